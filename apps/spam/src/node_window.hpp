// The memory that the ranks of a node share: of each rank, twice each, a table of rows and the state of a
// stage.
//
// An MPI shared window. All ranks of the node have the same room, so that one knows where the other's data
// lie.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "halo.hpp"

namespace spam {

struct NodeRoom {
  std::size_t particles = 0;    // of a rank, at most
  std::size_t row_numbers = 0;  // of a rank's table of rows, at most
};

class NodeWindow {
 public:
  /// `node`: as MPI_Comm_split_type(MPI_COMM_TYPE_SHARED) makes it; used while the object lives.
  explicit NodeWindow(MPI_Comm node) : node_(node) {}
  ~NodeWindow();
  NodeWindow(const NodeWindow&) = delete;
  NodeWindow& operator=(const NodeWindow&) = delete;

  /// Collective over the node; all give the same. What was there before is gone.
  void allocate(const NodeRoom& room);
  const NodeRoom& room() const { return room_; }

  int* rows(int node_rank, int copy) const;
  StageState stage(int node_rank, int parity) const;

  /// Before telling others that one has written, and after having been told (MPI-5.0, 12.5.4).
  void sync() const { MPI_Win_sync(window_); }

 private:
  void free();
  std::size_t rows_bytes() const;
  std::size_t values_bytes() const;

  MPI_Comm node_;
  MPI_Win window_ = MPI_WIN_NULL;
  NodeRoom room_;
  std::vector<std::byte*> base_;  // by rank of the node
};

}  // namespace spam

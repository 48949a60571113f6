// The halo where neighbours of the same node read each other's state in place, in memory that they share; to
// neighbours on other nodes messages go.
//
// Each rank writes its stages into its part of the node's window, in two copies, by the stage's parity. A
// message of no bytes, the signal, says that a stage is written. One signal a stage is enough:
//
//   1. What stage s of a rank holds is read by its neighbours alone, between their finish(s) and
//      start(s + 1). Two ranks are each other's neighbours, or neither is the other's.
//   2. A rank that receives a neighbour's signal s sees its stage s: it was written before start(s), which
//      orders the writes before the signal (MPI_Win_sync), as finish(s) orders the reads behind it.
//   3. stage(s + 2), in the same memory as stage s, is written after finish(s + 1), when the signals s
//      + 1 of all neighbours are there. These were sent by start(s + 1), so by 1 no rank reads stage s
//      any more. Across steps likewise, stage 0 coming after stage 3.
//   4. Tables of rows are written by plan() and read up to the end of stage 3. Two copies take turns by
//      steps: the one that plan() writes was last read in the step before the last, which all
//      neighbours have left, since their signals of the last step are there.
//   5. Where the neighbours change, all owners do, on all ranks in the same step. plan() then meets all
//      ranks of the node (MPI_Allreduce), and so no rank reads anything any more; 3 and 4 begin anew.
//
// The window grows by agreement, although no rank can ask the node's ranks when it finds that it has too
// little:
//
//   6. In a step particles move less than a column's width (exchange.hpp), so those of the next step's
//      columns are among the ones that are now in them and in the ghosts. Once finish(0) has shown how
//      many there are, this bound is put into the node's maximum (MPI_Iallreduce), which plan() has
//      when the next step begins: all ranks know the same number, and all of them grow the window if it
//      is too small, or none does. The maximum is found while forces are computed, and no rank waits for
//      it. (To make room for all particles in advance, as they cannot become more, would need none of
//      this, but for each rank room for the whole of the system.)
//   7. When owners change, the Allreduce of 5 has the numbers of particles themselves.
#pragma once

#include "borders.hpp"
#include "ghost_messages.hpp"
#include "halo.hpp"
#include "node_window.hpp"

namespace spam {

class SharedHalo final : public Halo {
 public:
  SharedHalo(MPI_Comm comm, bool with_velocities, bool periodic_x);
  ~SharedHalo() override;

  void plan(const Domain& domain) override;
  StageState stage(int stage) override;
  void start(int stage) override;
  void progress() override;
  void finish(int stage) override;
  ColumnView ghost(int column) const override;
  Sent sent() const override;

 private:
  /// A neighbour of this node.
  struct Near {
    Border border;
    int node_rank = 0;
    std::vector<int> seen_numbers;  // of border.seen among the columns that it owns
  };

  void set_neighbours(const Domain& domain);
  void make_room(const Domain& domain, bool new_owners);
  void write_rows(const Domain& domain);
  void post_signals(int stage);
  void look_at_ghosts();
  void agree_on_particles();
  std::size_t numbers_per_column() const { return static_cast<std::size_t>(domain_->grid().rows) + 2; }

  MPI_Comm comm_, node_;
  bool with_velocities_, periodic_x_;
  int node_rank_ = 0;
  std::vector<int> node_ranks_;  // by rank of comm_: its rank in the node, or MPI_UNDEFINED
  std::unique_ptr<NodeWindow> window_;
  std::unique_ptr<GhostMessages> messages_;  // with the neighbours on other nodes
  const Domain* domain_ = nullptr;           // as planned
  Owners owners_;
  std::vector<Near> near_;
  std::size_t columns_max_ = 0;  // owned by one rank
  GhostTable ghosts_;
  std::vector<MPI_Request> signals_in_, signals_out_;
  bool signals_came_ = true;  // all, at the open stage
  MPI_Request agreement_ = MPI_REQUEST_NULL;
  std::int64_t particles_bound_ = 0, particles_max_ = 0;  // of this rank; of the node's
  std::int64_t near_particles_ = 0;                       // in ghosts of this node
  std::int64_t signals_ = 0;
  int rows_copy_ = 0;
  int parity_ = 0;  // of the ghosts that can be read
};

}  // namespace spam

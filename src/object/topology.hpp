// Topology: the shape that a communicator was given (MPI chapter 8).
//
// A topology is made with its communicator and never changes; duplicates of the communicator share it, so it
// is seen from the same rank everywhere. Whatever its kind, it ends in two lists, `sources` and
// `destinations`: this rank's neighbours, in the order in which the neighbourhood collectives lay out their
// blocks (MPI 8.6).
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "object/comm.hpp"

namespace tasuki {

enum class TopologyKind : int { kCart = 211, kGraph = 212, kDistGraph = 213 };

struct Topology {
  explicit Topology(TopologyKind made_kind) : kind(made_kind) {}

  TopologyKind kind;

  // Of a grid (MPI 8.5.1), one entry for each dimension.
  std::vector<int> dims;
  std::vector<int> periods;  // 0 or 1
  std::vector<int> coords;   // of this rank

  // Of a graph (MPI 8.5.3): the whole of it.
  std::vector<int> index;  // index[r]: where the edges of rank r end
  std::vector<int> edges;

  // Of a distributed graph (MPI 8.5.4); one weight for each neighbour, none where the graph has none.
  bool weighted = false;
  std::vector<int> source_weights, destination_weights;

  // Of all kinds. Beyond the border of a grid: kProcNull.
  std::vector<int> sources, destinations;
  bool matched = true;  // each edge out of a rank comes into another: neighbourhood collectives can run

  int ndims() const { return static_cast<int>(dims.size()); }
  int nnodes() const { return static_cast<int>(index.size()); }
  int indegree() const { return static_cast<int>(sources.size()); }
  int outdegree() const { return static_cast<int>(destinations.size()); }

  /// The rank at these coordinates, each in 0 .. dims[i] - 1 (MPI 8.5.1: the last one counts fastest).
  int rank_at(const std::vector<int>& place) const;
  std::vector<int> coords_of(int rank) const;

  /// The rank `distance` away from this one in a dimension of the grid, or kProcNull.
  int shifted(int dimension, std::int64_t distance) const;

  /// A graph's neighbours of a rank.
  const int* neighbors_of(int rank) const { return edges.data() + first_edge_of(rank); }
  int neighbors_count(int rank) const { return index[static_cast<std::size_t>(rank)] - first_edge_of(rank); }

 private:
  int first_edge_of(int rank) const { return rank == 0 ? 0 : index[static_cast<std::size_t>(rank) - 1]; }
};

/// kErrTopology unless `comm` has a topology of this kind.
Code check_topology(const Comm& comm, TopologyKind kind);

/// kErrTopology unless neighbourhood collectives can run on `comm`: it has a topology, and every edge that
/// leads out of a rank leads into another (MPI 8.6; the answer is the same on all ranks).
Code check_neighborhood(const Comm& comm);

}  // namespace tasuki

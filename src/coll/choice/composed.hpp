// How the registry (coll/choice/registry.cpp) prices and calls those of those algorithms that are more
// than a formula and a function: with segments, in several directions, or hierarchical, whose parts are
// chosen in their turn. A price is in nanoseconds; what else it is a function of is only what all ranks know
// alike.
//
// Thread safety: pure.
#pragma once

#include "coll/choice/registry.hpp"
#include "coll/pipeline/grid.hpp"

namespace tasuki::composed {

inline constexpr Count kSegmentsWorthTrying[] = {4 << 10, 16 << 10, 64 << 10, 256 << 10};  // bytes

/// The grid of up to so many dimensions that the problem's ranks are taken for.
Grid grid_for(const Problem& problem, int dimensions);

/// Whether the ranks make a grid of just so many dimensions.
template <int dimensions>
bool is_grid(const Problem& problem) {
  return grid_for(problem, dimensions).dimensions == dimensions;
}
template <int dimensions>
bool is_grid_and_commutes(const Problem& problem) {
  return problem.commutative && is_grid<dimensions>(problem);
}

/// Several nodes, and several ranks on one. Where something is reduced: in an order that the parts can keep.
bool has_hierarchy(const Problem& problem);
/// And as many ranks on each node.
bool has_lanes(const Problem& problem);
/// The same, and the parts may be calls (coll/hierarchy/communicators.hpp): for what has no
/// schedule.
bool may_call_lanes(const Problem& problem);
bool may_call_lanes_in_order(const Problem& problem);

// Pipelines along one tree for each dimension of a grid; with one dimension, a chain. On a node, and wherever
// ranks share a node's links, each message takes its time; where each rank has a node to itself, the
// throughput model (coll/pipeline/throughput.hpp) says what its links do at once.
double bcast_grid_ns(const Problem& problem, const Parameters& parameters, Count segment_bytes,
                     int dimensions);
double reduce_grid_ns(const Problem& problem, const Parameters& parameters, Count segment_bytes,
                      int dimensions);
double allreduce_grid_ns(const Problem& problem, const Parameters& parameters, Count segment_bytes,
                         int dimensions);
void bcast_grid(Schedule& schedule, const Team& team, const Elements& data, int dimensions);
void reduce_grid(Schedule& schedule, const Team& team, const Reduction& data, int dimensions);
void allreduce_grid(Schedule& schedule, const Team& team, const Reduction& data, int dimensions);

double bcast_binary_tree_ns(const Problem& problem, const Parameters& parameters, Count segment_bytes);
double reduce_binary_tree_ns(const Problem& problem, const Parameters& parameters, Count segment_bytes);
double allreduce_binary_tree_ns(const Problem& problem, const Parameters& parameters, Count segment_bytes);
void bcast_binary_tree(Schedule& schedule, const Team& team, const Elements& data);
void reduce_binary_tree(Schedule& schedule, const Team& team, const Reduction& data);
void allreduce_binary_tree(Schedule& schedule, const Team& team, const Reduction& data);

double allgather_multi_ring_ns(const Problem& problem, const Parameters& parameters, Count);
void allgather_multi_ring(Schedule& schedule, const Team& team, const Elements& mine, const Blocks& all);

// Hierarchical ones (coll/hierarchy/schedules.hpp).
double hierarchical_barrier_ns(const Problem& problem, const Parameters& parameters, Count);
double hierarchical_bcast_ns(const Problem& problem, const Parameters& parameters, Count);
double hierarchical_reduce_ns(const Problem& problem, const Parameters& parameters, Count);
double hierarchical_allreduce_ns(const Problem& problem, const Parameters& parameters, Count);
double allreduce_lanes_ns(const Problem& problem, const Parameters& parameters, Count);
double hierarchical_gather_ns(const Problem& problem, const Parameters& parameters, Count);
double hierarchical_scatter_ns(const Problem& problem, const Parameters& parameters, Count);
double hierarchical_allgather_ns(const Problem& problem, const Parameters& parameters, Count);
double hierarchical_alltoall_ns(const Problem& problem, const Parameters& parameters, Count);
double hierarchical_reduce_scatter_ns(const Problem& problem, const Parameters& parameters, Count);
double hierarchical_scan_ns(const Problem& problem, const Parameters& parameters, Count);
double hierarchical_exscan_ns(const Problem& problem, const Parameters& parameters, Count);
void hierarchical_barrier(Schedule& schedule, const Team& team);
void hierarchical_bcast(Schedule& schedule, const Team& team, const Elements& data);
void hierarchical_reduce(Schedule& schedule, const Team& team, const Reduction& data);
void hierarchical_allreduce(Schedule& schedule, const Team& team, const Reduction& data);
void allreduce_lanes(Schedule& schedule, const Team& team, const Reduction& data);
void hierarchical_gather(Schedule& schedule, const Team& team, const Elements& mine, const Blocks& all);
void hierarchical_scatter(Schedule& schedule, const Team& team, const Blocks& all, const Elements& mine);
void hierarchical_allgather(Schedule& schedule, const Team& team, const Elements& mine, const Blocks& all);
void hierarchical_alltoall(Schedule& schedule, const Team& team, const Blocks& out, const Blocks& in);

}  // namespace tasuki::composed

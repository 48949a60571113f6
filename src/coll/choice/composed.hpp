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
  return problem.commutative && problem.repeatable == Repeatable::kNo && is_grid<dimensions>(problem);
}

/// Several nodes, and several ranks on one. Where something is reduced: in an order that the parts can keep.
bool has_hierarchy(const Problem& problem);
/// And as many ranks on each node.
bool has_lanes(const Problem& problem);
/// Where the parts are called: the ranks tell each other first what they are to do. Not in place.
bool may_call_parts(const Problem& problem);
/// And the parts are called; and the ranks of each node follow one another. The prices of the schedules of
/// reduce-scatters and scans are too low: measured, they were slower than others.
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

// Hierarchical ones (coll/hierarchy/collectives.hpp). The price is the sum of their parts'; each part takes
// the cheapest algorithm.
double hierarchical_ns(const Problem& problem, const Parameters& parameters, Count);
double allreduce_by_lanes_ns(const Problem& problem, const Parameters& parameters, Count);
void write_hierarchical(hierarchy::Collective& collective, Schedule& schedule, const Team& team,
                        const CallData& data);

}  // namespace tasuki::composed

// Which process takes which place of a topology: the reordering that MPI_Cart_create, MPI_Graph_create and
// the distributed graphs permit (MPI 8.4), so that neighbours that talk much share caches, memory and
// machine.
//
// The distance of two processes follows from the smallest piece of hardware that holds both. The mapping is a
// recursive one: the processes are divided as the machine is (machines, packages, NUMA nodes, caches, cores),
// the graph is cut into parts of these sizes by growing each part along its heaviest edges, and exchanges of
// two processes then mend what growing did not see. It is a pure function, so that all processes that know
// the graph find the same answer without a message. Never worse than the order that was there, which stays
// where nothing is gained.
#pragma once

#include <cstdint>
#include <vector>

#include "node/hardware.hpp"

namespace tasuki {

/// Where a process computes.
struct ProcessPlace {
  std::uint64_t machine;
  HardwarePlace place;
};

/// 0 on one processor, doubled with each level that two processes do not share; greatest between machines.
/// Processes that may run anywhere in a piece of hardware are as far from each other as its ends.
std::int64_t place_distance(const ProcessPlace& one, const ProcessPlace& other);

/// An edge between two nodes of a communication graph, in either direction, with its weight (at least 0).
struct PlacementEdge {
  std::int32_t node;
  std::int32_t neighbor;
  std::int64_t weight;
};

/// The cost of an order: over all edges, weight times the distance of the processes at its ends.
/// `order[node]` is the process, an index of `places`.
std::int64_t placement_cost(const std::vector<PlacementEdge>& edges, const std::vector<ProcessPlace>& places,
                            const std::vector<int>& order);

/// A permutation of 0 .. places.size() - 1: the process for each node. REQUIRES: nodes of `edges` are within
/// that range. About places.size()^2 steps.
std::vector<int> place_nodes(const std::vector<PlacementEdge>& edges,
                             const std::vector<ProcessPlace>& places);

}  // namespace tasuki

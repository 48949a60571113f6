// What the calls share that give a communicator a topology (MPI chapter 8): the exchange in which its ranks
// agree, and the order of the new communicator's ranks.
//
// Where all ranks permit it (`reorder`), the processes are put in the order that brings neighbours close to
// each other on the hardware (placement.hpp): node i of the topology is rank i of the new communicator,
// whichever process that is. MPI_Cart_map and MPI_Graph_map, which need not be called by all, answer with the
// caller's own rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "object/comm.hpp"
#include "object/topology.hpp"
#include "placement/placement.hpp"

namespace tasuki {

/// kErrComm for an intercommunicator.
Code check_can_take_topology(const Comm& comm);

/// A number that two lists share only if they are equal (but for chance).
std::uint64_t fingerprint(std::uint64_t seed, const int* values, std::size_t count);

/// What a process brings to the exchange in which a communicator with a topology is made.
struct TopologyShare {
  Context context = 0;            // that the new communicator takes if this process is its first member
  std::uint64_t fingerprint = 0;  // of what all must pass alike
  std::uint64_t balance = 0;      // these sum up to 0 over all ranks if the edges match
  Code wrong = 0;                 // not 0: this process found its own arguments wrong
  std::int32_t reorder = 0;       // 1: ranks may be given to other processes
  ProcessPlace place = {};        // with `reorder`
};

/// What the exchange comes to, the same on all ranks.
struct TopologyAgreement {
  Context context = 0;               // of the new communicator
  bool matched = true;               // whether the edges match
  std::vector<ProcessPlace> places;  // by rank of the parent; empty unless all permit another order
};

/// The exchange. Fails on every rank when one of them has wrong arguments or when they differ: on the rank
/// that is wrong with its own error.
Code exchange_shares(Comm& comm, const TopologyShare& mine, bool reorder, TopologyAgreement* agreed);

/// The order of the new communicator: for each of its `size` ranks, the rank in the parent of the process
/// that takes it. Only the parent's first `size` processes take part.
std::vector<int> choose_order(const TopologyAgreement& agreed, int size,
                              const std::vector<PlacementEdge>& edges);
/// The new rank of the process `parent_rank`, or kUndefined.
int rank_in_order(const std::vector<int>& order, int parent_rank);

/// The communicator of these ranks of `parent`, of which this process is one, in this order.
Comm* make_comm_with_topology(Comm& parent, Context context, const std::vector<int>& order,
                              Topology topology);

}  // namespace tasuki

// NodeMap: which ranks of a communicator are on which node. For algorithms that go one way inside a node and
// another between nodes.
//
// A pure function of each rank's node, so all ranks of a communicator have the same one, but for `self`.
// Nodes are numbered in the order of their least rank; the first rank of each is its leader. A node's ranks
// need not be neighbours, nor as many as another's: ask is_uniform() and is_consecutive().
//
// Thread safety: immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "object/comm.hpp"

namespace tasuki {

struct Process;

class NodeMap {
 public:
  /// `numbers[rank]` names the node of that rank: any number, the same for all ranks of a node.
  /// REQUIRES: 0 <= self < numbers.size().
  NodeMap(std::span<const int> numbers, int self);

  int nodes() const { return static_cast<int>(first_.size()) - 1; }
  int size() const { return static_cast<int>(ranks_.size()); }

  /// The node of a rank, and which of its node's ranks that one is (0: the leader).
  int node_of(int rank) const { return places_[static_cast<std::size_t>(rank)].node; }
  int index_of(int rank) const { return places_[static_cast<std::size_t>(rank)].index; }

  /// The ranks of a node, ascending.
  std::span<const int> ranks_of(int node) const {
    const auto at = static_cast<std::size_t>(node);
    return {ranks_.data() + first_[at], static_cast<std::size_t>(first_[at + 1] - first_[at])};
  }
  int ranks_on(int node) const { return static_cast<int>(ranks_of(node).size()); }
  int leader_of(int node) const {
    return ranks_[static_cast<std::size_t>(first_[static_cast<std::size_t>(node)])];
  }
  std::vector<int> leaders() const;

  /// All ranks, those of node 0 first: the concatenation of ranks_of().
  std::span<const int> ranks_by_node() const { return ranks_; }

  /// This rank's node.
  int own_node() const { return node_of(self_); }
  std::span<const int> own_ranks() const { return ranks_of(own_node()); }

  int largest() const { return largest_; }    // most ranks on one node
  int smallest() const { return smallest_; }  // fewest
  bool is_uniform() const { return largest_ == smallest_; }
  /// Whether each node's ranks are neighbours: ranks_by_node() counts from 0 up.
  bool is_consecutive() const { return consecutive_; }

 private:
  struct Place {
    int node;
    int index;
  };
  int self_;
  int largest_ = 0;
  int smallest_ = 0;
  bool consecutive_ = true;
  std::vector<int> ranks_;     // by node, then ascending
  std::vector<int> first_;     // of each node in ranks_, and the end
  std::vector<Place> places_;  // by rank
};

/// Where a communicator keeps its map; ask node_map().
inline constexpr Slot<const NodeMap> kNodeMapSlot{SlotNumber::kNodeMap};

/// The map of an intracommunicator, or of an intercommunicator's local group. Made when it is first asked
/// for, without a message, and kept with the communicator.
///
/// In a communicator of several jobs each job counts as one node: where another job's ranks are is not known
/// here, and all must have the same map.
const NodeMap& node_map(Comm& comm);

/// A number of this rank's node, the same for all processes that share its memory: the machine's, or, on a
/// virtual node, one that no other node has.
std::uint64_t node_number(Process& process);

}  // namespace tasuki

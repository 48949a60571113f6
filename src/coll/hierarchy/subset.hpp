// What the hierarchical collectives share: which ranks run a part, with which buffers, and how its steps
// become part of the whole.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "coll/hierarchy/schedules.hpp"

namespace tasuki::hierarchy {

/// The ranks of a part, and this rank's number among them: -1 if it has no part in it.
struct Subset {
  std::vector<int> ranks;
  int self = -1;

  int size() const { return static_cast<int>(ranks.size()); }
};

inline Subset node_of(const NodeMap& map, int rank) {
  const std::span<const int> ranks = map.ranks_of(map.node_of(rank));
  return {{ranks.begin(), ranks.end()}, map.index_of(rank)};
}

/// One leader for each node: its first rank, but for `root`, which leads its own (-1: there is none).
inline Subset leaders_of(const NodeMap& map, int rank, int root = -1) {
  Subset subset{map.leaders(), -1};
  if (root >= 0) subset.ranks[static_cast<std::size_t>(map.node_of(root))] = root;
  if (subset.ranks[static_cast<std::size_t>(map.node_of(rank))] == rank) subset.self = map.node_of(rank);
  return subset;
}

/// The leader's number among the ranks of its node.
inline int leader_in_node(const NodeMap& map, int node, int root) {
  return map.node_of(root) == node ? map.index_of(root) : 0;
}

/// Where a node's ranks begin in the node order: NodeMap::ranks_by_node.
inline int position_of(const NodeMap& map, int node) {
  return static_cast<int>(map.ranks_of(node).data() - map.ranks_by_node().data());
}

/// All ranks, in node order.
inline Subset all_by_node(const NodeMap& map, int rank) {
  const std::span<const int> ranks = map.ranks_by_node();
  return {{ranks.begin(), ranks.end()}, position_of(map, map.node_of(rank)) + map.index_of(rank)};
}

/// Where the buffers of a part lie: by default where those of the call do.
struct Buffers {
  Place send{Space::kSend, 0};
  Place receive{Space::kReceive, 0};
};

/// Writes the steps of a part, `algorithm(member)`, which this rank runs. REQUIRES: subset.self >= 0.
template <class Algorithm>
void among(Schedule& schedule, const Subset& subset, const Buffers& buffers, Algorithm&& algorithm) {
  schedule.end_round();
  const std::size_t first = schedule.steps.size();
  algorithm(Member{subset.self, subset.size()});
  schedule.end_round();
  schedule.map_ranks(first, subset.ranks);
  schedule.map_buffers(first, buffers.send, buffers.receive);
}

}  // namespace tasuki::hierarchy

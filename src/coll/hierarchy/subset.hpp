// Some of a communicator's ranks run a part of its schedule: which ranks, with which buffers, and how the
// part's steps become steps of the whole.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "coll/schedule/data.hpp"
#include "placement/node_map.hpp"

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

/// Where a node's ranks begin in the node order: NodeMap::ranks_by_node.
inline int position_of(const NodeMap& map, int node) {
  return static_cast<int>(map.ranks_of(node).data() - map.ranks_by_node().data());
}

/// All ranks, in node order.
inline Subset all_by_node(const NodeMap& map, int rank) {
  const std::span<const int> ranks = map.ranks_by_node();
  return {{ranks.begin(), ranks.end()}, position_of(map, map.node_of(rank)) + map.index_of(rank)};
}

/// Where the buffers of a part begin: by default where those of the call do.
struct Buffers {
  Place send{Space::kSend, 0};
  Place receive{Space::kReceive, 0};

  /// A place in a buffer of the part, as one of the call.
  Place of_call(Place place) const {
    if (place.space == Space::kSend) return send + place.offset;
    if (place.space == Space::kReceive) return receive + place.offset;
    return place;
  }
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

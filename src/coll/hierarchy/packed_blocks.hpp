// Blocks of all ranks in node order, for the hierarchical collectives that move blocks.
//
// Words: ranks in *node order* are those of node 0, of node 1 and so on; what is packed lies in that order,
// as bytes. A *run* is as many of them as follow one another in the communicator too, so that one copy takes
// them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "coll/hierarchy/subset.hpp"

namespace tasuki::hierarchy {

/// Calls `visit(position, first_rank, ranks)` for each run in [begin, end) of the node order.
template <class Visit>
void for_runs(const NodeMap& map, int begin, int end, Visit&& visit) {
  const std::span<const int> order = map.ranks_by_node();
  while (begin < end) {
    const int first = order[static_cast<std::size_t>(begin)];
    int length = 1;
    while (begin + length < end && order[static_cast<std::size_t>(begin + length)] == first + length)
      ++length;
    visit(begin, first, length);
    begin += length;
  }
}

inline Elements bytes_at(Space space, Count bytes) {
  return {.space = space, .element = ElementType::kBytes, .count = bytes};
}
inline Blocks blocks_at(Space space, Count block) {
  return {.space = space, .element = ElementType::kBytes, .count = block};
}

/// The blocks of all ranks, packed in node order: in scratch memory, or in the receive buffer itself where
/// they lie so there.
class Packed {
 public:
  Packed(Schedule& schedule, const NodeMap& map, const Blocks& all)
      : map_(map), direct_(map.is_consecutive() && all.uniform() && all.type.contiguous) {
    offsets_.push_back(0);
    for (const int rank : map.ranks_by_node()) offsets_.push_back(offsets_.back() + all.bytes_of(rank));
    begin_ = direct_ ? all.place_of(0) : schedule.scratch(bytes());
  }

  bool direct() const { return direct_; }
  Place begin() const { return begin_; }
  Count bytes() const { return offsets_.back(); }
  Place at(int position) const { return begin_ + offset(position); }
  Count offset(int position) const { return offsets_[static_cast<std::size_t>(position)]; }
  Count bytes_between(int position, int end) const { return offset(end) - offset(position); }

  /// Parts of it, as the blocks of an allgather or gather: of the nodes, or of the ranks of one.
  struct Parts {
    std::vector<Count> counts, displacements;  // bytes; displacements from the first
    Blocks blocks() const {
      return {.element = ElementType::kBytes,
              .counts = CountArray(counts.data()),
              .displacements = CountArray(displacements.data()),
              .displacement_bytes = 1};
    }
    void add(Count displacement, Count bytes) {
      displacements.push_back(displacement);
      counts.push_back(bytes);
    }
  };
  Parts of_nodes() const {
    Parts parts;
    for (int node = 0; node < map_.nodes(); ++node) {
      const int first = position_of(map_, node);
      parts.add(offset(first), bytes_between(first, first + map_.ranks_on(node)));
    }
    return parts;
  }
  Parts of_ranks(int node) const {
    Parts parts;
    const int first = position_of(map_, node);
    for (int position = first; position < first + map_.ranks_on(node); ++position)
      parts.add(offset(position) - offset(first), bytes_between(position, position + 1));
    return parts;
  }

 private:
  const NodeMap& map_;
  bool direct_;
  Place begin_;
  std::vector<Count> offsets_;  // by position, and the end
};

}  // namespace tasuki::hierarchy

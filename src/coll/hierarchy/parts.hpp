// The parts of a hierarchical collective (coll/hierarchy/collectives.hpp): each is a collective among some of
// the ranks, with buffers of its own. Between the parts stand copies and reductions of this rank alone, in
// scratch memory.
//
// Words, in a communicator whose ranks are on several nodes (placement/node_map.hpp):
//  - A *lane* has the rank of the same number on each node.
//  - The *carriers*, one on each node, pass on what goes between the nodes. They are the lane of the root
//    where each node has a rank on it; else the root, and the leaders of the other nodes.
//  - A part on a node has its carrier for a root, a part between nodes the root's node.
//
// A collective gives its parts, in their order, to a Parts. What becomes of them is up to its two kinds:
// their steps go into the schedule (coll/choice/composed_hierarchies.cpp), or a blocking collective on a
// hidden communicator is called for each (coll/hierarchy/calls.hpp).
//
// Thread safety: pure, one object for one thread.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/variables/collective_operations.hpp"
#include "coll/hierarchy/subset.hpp"
#include "coll/schedule/data.hpp"
#include "placement/node_map.hpp"

namespace tasuki::hierarchy {

enum class Among {
  kNode,      // the ranks of this node
  kCarriers,  // of all nodes
  kLanes,     // the ranks of this rank's lane, in all lanes at once; REQUIRES: as many ranks on each node
};

struct Part {
  Among among;
  Operation operation;
  CallData data;  // in the part's own buffers
  Buffers buffers;
  int root;  // in the part
};

class Parts {
 public:
  /// REQUIRES: `map` and `schedule` outlive it.
  Parts(Schedule& rank_schedule, const NodeMap& node_map, int own_rank, int root)
      : schedule(rank_schedule), map(node_map), rank(own_rank), root_(root) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  virtual ~Parts() = default;

  Schedule& schedule;  // for scratch memory, and for this rank's own copies and reductions
  const NodeMap& map;
  const int rank;

  int root() const { return root_; }
  bool is_root() const { return rank == root_; }
  int own_node() const { return map.node_of(rank); }
  int own_index() const { return map.index_of(rank); }
  int ranks() const { return map.ranks_on(own_node()); }  // of this node
  bool is_alone() const { return ranks() == 1; }

  /// The carrier of a node, by its number among the node's ranks; and whether this rank is one.
  int carrier_of(int node) const {
    const int index = map.index_of(root_);
    return node == map.node_of(root_) || index < map.smallest() ? index : 0;
  }
  bool carries() const { return carrier_of(own_node()) == own_index(); }
  /// Where no rank is the root: chooses the carriers. REQUIRES: no part was added.
  void carry_as(int root) { root_ = root; }

  // The next part, which only the ranks that take part in it add to what they do.
  void on_node(Operation operation, const CallData& data, const Buffers& buffers = {}) {
    // One rank has nothing to do but to copy.
    if (is_alone() && (operation == Operation::kBcast || data.elements.in_place)) return;
    add({Among::kNode, operation, data, buffers, carrier_of(own_node())});
  }
  void on_carriers(Operation operation, const CallData& data, const Buffers& buffers = {}) {
    if (carries()) add({Among::kCarriers, operation, data, buffers, map.node_of(root_)});
  }
  void on_lanes(Operation operation, const CallData& data, const Buffers& buffers = {}) {
    add({Among::kLanes, operation, data, buffers, map.node_of(root_)});
  }

  // What the ranks of this node tell each other before the parts, since only they know it. REQUIRES: the
  // parts are called. What was heard holds for this call alone.

  /// Each rank tells a number: all, by rank of the node.
  virtual std::vector<Count> tell_node(Count) { return {}; }
  /// Each rank has as many numbers for each rank, one after the other; what it gets, likewise.
  virtual std::vector<Count> swap_on_node(const std::vector<Count>&) { return {}; }

  /// `blocks`, of so many elements each, one after the other in their buffer. The numbers go with the
  /// schedule.
  Blocks in_a_row(Blocks blocks, std::vector<Count> counts) {
    std::vector<Count> firsts{0};
    for (const Count count : counts) firsts.push_back(firsts.back() + count);
    blocks.counts = keep(std::move(counts));
    blocks.displacements = keep(std::move(firsts));
    blocks.displacement_bytes = blocks.type.extent;
    return blocks;
  }

  CountArray keep(std::vector<Count> numbers) {
    schedule.counts.push_back(std::move(numbers));
    return CountArray(schedule.counts.back().data());
  }

 protected:
  /// This rank takes part in it.
  virtual void add(const Part& part) = 0;

  /// The ranks of a part that this rank takes part in.
  Subset ranks_of(Among among) const {
    if (among == Among::kNode) return node_of(map, rank);
    Subset subset{{}, own_node()};
    for (int node = 0; node < map.nodes(); ++node) {
      const int index = among == Among::kLanes ? own_index() : carrier_of(node);
      subset.ranks.push_back(map.ranks_of(node)[static_cast<std::size_t>(index)]);
    }
    return subset;
  }

 private:
  int root_;
};

/// So many bytes at the beginning of the buffer.
inline Elements bytes_at(Space space, Count bytes) {
  return {.space = space, .element = ElementType::kBytes, .count = bytes};
}

}  // namespace tasuki::hierarchy

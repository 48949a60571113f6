// Hierarchy: the two hidden communicators of a rank that the blocking hierarchical collectives of a
// communicator over several nodes are made of. The *node* has the ranks of this rank's node, which share
// memory, so there the node segment serves (coll/shm/node_segment.hpp). The *lane* has the rank of the same
// number of each node that has one: lane 0 is that of the nodes' leaders.
//
// A blocking hierarchical collective is a few calls on these, one after the other; each call chooses its
// algorithm like any other (coll/hierarchy/calls.hpp). Rooted ones go along the lane of the root. Nonblocking
// and persistent collectives write schedules instead.
//
// Made by the first blocking collective that wants it, which all ranks of the communicator choose alike; it
// goes with the communicator. It takes one context for each node and one for each lane, that is at most two
// of the 2^38 that a process can make. Tools do not see its communicators (Comm::hidden), nor what runs on
// them.
//
// Ownership: a Comm owns its Hierarchy, and that its communicators.
// Thread safety: the caller holds the process lock.
//
// Invariant: there is a hierarchy only where each node that has several ranks has a node segment; all ranks
// know alike.
#pragma once

#include <memory>

#include "coll/hierarchy/recorded_calls.hpp"
#include "object/comm.hpp"
#include "placement/node_map.hpp"

namespace tasuki {

class Hierarchy {
 public:
  /// The hierarchy of `comm`, an intracommunicator on several nodes with several ranks on some; null where
  /// its ranks could not agree. Collective.
  static std::shared_ptr<Hierarchy> make(Comm& comm);

  const NodeMap& map() const { return *map_; }
  Comm& node() const { return *node_; }
  Comm& lane() const { return *lane_; }
  hierarchy::RecordedCalls& records() { return records_; }
  bool is_alone() const { return node_->size() == 1; }

  /// Whether each node has a rank on the lane of `root`. There the ranks of the lane are numbered as the
  /// nodes are.
  bool has_lane_of(int root) const { return map_->index_of(root) < map_->smallest(); }

 private:
  explicit Hierarchy(Comm& comm);
  bool connect(Comm& comm);

  std::shared_ptr<const NodeMap> map_;
  Ref<Comm> node_;
  Ref<Comm> lane_;
  hierarchy::RecordedCalls records_;
};

/// Where a communicator keeps its hierarchy: null before the first collective that wants it, and where there
/// is none.
inline constexpr Slot<Hierarchy> kHierarchySlot{SlotNumber::kHierarchy};

}  // namespace tasuki

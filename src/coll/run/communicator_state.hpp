// What the collectives hang onto a communicator: its node segment, and its hierarchy. Each is made by the
// first blocking collective that wants it, and goes with the communicator.
//
// Thread safety: the caller holds the process lock.
#pragma once

#include "coll/hierarchy/communicators.hpp"
#include "coll/shm/node_segment.hpp"
#include "object/comm.hpp"

namespace tasuki {

/// The first call of node_segment_of().
[[gnu::cold, gnu::noinline]] NodeSegment* try_to_make_node_segment(Comm& comm);

/// The node segment of `comm`, made by the first call; null where there is none. Collective in that sense: to
/// be asked by a blocking collective alone.
inline NodeSegment* node_segment_of(Comm& comm) {
  if (NodeSegment* segment = comm.slots.get(kNodeSegmentSlot)) [[likely]]
    return segment;
  return comm.slots.is_set(kNodeSegmentSlot) ? nullptr : try_to_make_node_segment(comm);
}

/// Sets up to which sizes collectives on `segment` are flag-based, by the choice among all algorithms.
void set_flag_limits(NodeSegment& segment);

/// Whether a blocking collective on `comm` may count on its hierarchy, which may have to be made yet.
bool may_have_hierarchy(Comm& comm);

/// The hierarchy of `comm`, made by the first call; null where there is none. REQUIRES: may_have_hierarchy();
/// asked by a blocking collective alone, by all ranks.
Hierarchy* hierarchy_of(Comm& comm);

}  // namespace tasuki

// What the collectives hang onto a communicator: its stage, and its levels. Each is made by the first
// blocking collective that wants it, and goes with the communicator.
//
// Thread safety: the caller holds the process lock.
#pragma once

#include "coll/hierarchy/communicators.hpp"
#include "coll/shm/node_segment.hpp"
#include "object/comm.hpp"

namespace tasuki {

/// The first call of stage_of().
[[gnu::cold, gnu::noinline]] Stage* try_to_make_stage(Comm& comm);

/// The stage of `comm`, made by the first call; null where there is none. Collective in that sense: to be
/// asked by a blocking collective alone.
inline Stage* stage_of(Comm& comm) {
  if (comm.stage_tried) [[likely]]
    return comm.stage.get();
  return try_to_make_stage(comm);
}

/// Sets up to which sizes collectives on `stage` are quick, by the choice among all algorithms.
void set_quick_limits(Stage& stage);

/// Whether a blocking collective on `comm` may count on its levels; they may have to be made yet.
bool may_have_levels(Comm& comm, Operation operation);

/// The levels of `comm`, made by the first call; null where there are none. REQUIRES: may_have_levels();
/// asked by a blocking collective alone, by all ranks.
Levels* levels_of(Comm& comm);

}  // namespace tasuki

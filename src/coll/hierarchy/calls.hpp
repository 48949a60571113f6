// A blocking hierarchical collective: each part (coll/hierarchy/parts.hpp) is a blocking collective on a
// hidden communicator (coll/hierarchy/communicators.hpp), which chooses its algorithm like any other. So
// flags and exposed buffers serve within the nodes. The schedule has this rank's own copies and reductions,
// and between them steps that call the parts (coll/hierarchy/recorded_calls.hpp).
//
// Thread safety: the caller holds the process lock.
#pragma once

#include "coll/hierarchy/communicators.hpp"
#include "coll/hierarchy/parts.hpp"
#include "coll/schedule/bound_schedule.hpp"

namespace tasuki::hierarchy {

/// Calls the collective that is this part of the bound call.
Code call_part(const BoundSchedule& bound, const Hierarchy& hierarchy, const Part& part);

}  // namespace tasuki::hierarchy

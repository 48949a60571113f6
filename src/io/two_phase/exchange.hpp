// Exchange: two-phase access by messages, cycle by cycle. Each rank sends an aggregator what it has in that
// one's window as one message of packed bytes, and gets what it reads in the same way. Parts that an
// aggregator can address itself are left where they are.
//
// What overlaps: the messages of the next cycle are under way while an aggregator writes the window of this
// one, and those of this one while it reads the next. Messages are synchronous, so that no rank runs ahead of
// those it sends to by more than a cycle, and no rank has to keep what comes too early.
//
// Memory: an aggregator has room for the messages of two windows, each at most as long as the window (where
// ranks read or write the same bytes, they take turns). A rank whose memory is not dense has besides its
// packed parts of two cycles. Nothing grows with the length of the access.
//
// An error at an aggregator stops its file accesses, never the messages: all ranks come to the end.
//
// Thread safety: the process lock.
#pragma once

#include "base/types.hpp"
#include "io/access/access.hpp"
#include "io/file/phase_times.hpp"
#include "io/two_phase/access_plan.hpp"

namespace tasuki {

/// Carries `plan` out. Collective: all ranks of the file come here with the same plan, but for `own_number`.
/// `outcome` is that of this rank's windows; what a rank reads behind where the file ends stays as it was.
/// Returns the first error of a message, which the ranks do not share.
Task exchange(Course& course, const Access& access, const AccessPlan& plan, const PhasePlace& place,
              Outcome* outcome);

}  // namespace tasuki

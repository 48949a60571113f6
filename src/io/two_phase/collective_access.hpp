// Where collective access is decided. All ranks of the file come here, also those whose arguments were wrong:
// they take part with nothing. In one small exchange each says what it brings; then all know where
// all data lies in the file, choose the same of two ways (io/two_phase/cost_model.hpp), and take it:
//   independent  each rank moves its own (io/access/access.hpp)
//   two-phase    some ranks, the aggregators, access the file for all (io/two_phase/access_plan.hpp)
// Two-phase access ends with an agreement: an error at one rank is an error at all, and no rank returns while
// others use its memory.
#pragma once

#include "io/access/access.hpp"

namespace tasuki {

/// Gives ranks their places in the order of their numbers, from the shared file pointer on, and moves that
/// behind the last one (MPI 14.4.4). `code`: what measure() found at this rank; one that failed takes part
/// with nothing and gets its own error back. Is over once all ranks have come.
Task place_in_order(Course& course, Access* access, Code code);

/// Moves this rank's part of a collective access. `code`: what the checks found at this rank; one that failed
/// gets its own error back.
Task transfer_collectively(Course& course, const Access& access, Code code, Status* status);

}  // namespace tasuki

// Where collective access is decided. All ranks of the file come here with their parts; what moves which
// bytes is this file's choice alone. For now each rank moves its own: on one machine the page cache is
// shared, so the gain of two phases is left to larger systems.
#pragma once

#include "io/access.hpp"

namespace tasuki {

/// Gives ranks their places in the order of their numbers, from the shared file pointer on, and moves that
/// behind the last one (MPI 14.4.4). `code`: what measure() found at this rank; one that failed takes part
/// with nothing and gets its own error back. Returns once all ranks have come.
Code place_in_order(Access* access, Code code);

/// Moves this rank's part of a collective access. Errors are each rank's own (MPI 14.7).
Code transfer_collectively(const Access& access, Status* status);

}  // namespace tasuki

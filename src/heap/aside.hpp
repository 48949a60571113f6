// Out of the way of a sanitizer or another allocator behind which this library was not meant to stand.
//
// mpiexec does not preload the library where it sees one of them in the program, but a program may be started
// by a script, or have them by way of its libraries. Then this library's malloc() would hide theirs from the
// program, and what their own functions allocate (strdup(), mallocx()) would come to a free() that does not
// know it. So before main the program is started once more, without this library.
#pragma once

#include "heap/choice/rules.hpp"

namespace tasuki::heap {

/// Whether this process's malloc is ours and should be another's.
bool must_step_aside(const Facts& facts);

/// Starts the program again with what is preloaded less this library, and `reason` in its place
/// (kHeapReasonVariable). Returns when that cannot be: it was not
/// LD_PRELOAD that brought us here, or the program's file is not to be had; then all goes on as it is.
void step_aside(const char* reason, char* const* arguments, char* const* environment);

}  // namespace tasuki::heap

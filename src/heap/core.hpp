// Core dumps: what the program has touched of the symmetric heap is in them, and no more.
//
// The kernel dumps a range of shared memory whole, and makes every page of it that is not there; a symmetric
// heap is larger than the machine's memory. So the symmetric heap is left out of core dumps (MADV_DONTDUMP)
// until a signal is to end the process with one: then a handler lets in what its file holds, takes itself
// away, and the signal comes once more, with the registers and the stack that it found.
//
// The program sees nothing of that handler: sigaction() and signal() of this library say SIG_DFL where it
// stands, and put it where the program asks for SIG_DFL. A program that handles such a signal itself without
// coming back to SIG_DFL, and a stack that has overflowed without sigaltstack(), leave a core without the
// heap.
//
// Thread safety: watch_for_cores() before main, or under the lock of open_symmetric_heap(); the rest at any
// time.
#pragma once

#include "heap/fork.hpp"

namespace tasuki::heap {

/// Before main: so that signal(), which handlers call too, need not look for libc's.
void look_up_signal_functions();

/// From now on the process's core dumps hold what of `range` is there. At most two ranges.
void watch_for_cores(const SharedRange& range);

}  // namespace tasuki::heap

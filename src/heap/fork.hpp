// fork(): the child gets a heap of its own.
//
// The symmetric heap is shared memory, so the child of a fork() would go on in its parent's heap. Handlers of
// pthread_atfork see to it that it does not: no other thread is inside the allocator while the process forks
// (gate.hpp), and the parent's forking thread waits until the child has copied what there is of the heap into
// private memory at the same addresses. Then it is as after any fork, but that the copy was not lazy.
//
// What the other threads of the parent write meanwhile, and its peers, may or may not be in the copy.
//
// vfork(), posix_spawn(), system() and popen() run no handlers and need none: such a child runs in its
// parent's memory until it execs.
//
// Between the fork and the handler libc writes to what it allocated itself (locks of FILEs, values of thread
// keys): so that is never in the symmetric heap (malloc.cpp). The handlers are registered before all others'
// (register_atfork), so they are the child's first, and signals are blocked until it has its copy.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tasuki::heap {

/// A range of this process's memory that is shared by the symmetric heap's file.
struct SharedRange {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::uint64_t offset = 0;  // in the file
};

/// Registers the handlers, once; before that or without a symmetric heap a fork is libc's alone.
void watch_forks();

/// From now on forks copy `range` too. At most two. Before main, or under the lock of open_symmetric_heap().
void copy_at_fork(const SharedRange& range);

}  // namespace tasuki::heap

// Memory of the symmetric heap, by mimalloc: one heap for each thread; blocks may be freed by any thread.
//
// Everything here gives null where there is no symmetric heap, no heap for this thread, or no room: the
// callers then turn to libc. Thread safety: any thread, at any time, but for load_mimalloc().
#pragma once

#include <cstddef>

#include "heap/state.hpp"

namespace tasuki::heap {

/// Loads mimalloc and gives it the symmetric heap. Returns false and one line in `reason` when it is not
/// there.
bool load_mimalloc(const char** reason);

/// This thread's heap, made when it is first asked for; null when it cannot have one.
MimallocHeap* thread_heap();

/// free(), of a block of the symmetric heap.
void give_back(void* block);
/// realloc(), of a block of the symmetric heap; null when the symmetric heap has no room.
void* resize(MimallocHeap* heap, void* block, std::size_t bytes);
std::size_t usable_bytes(void* block);

/// In the child of a fork, which has one thread.
void mend_kept_blocks_after_fork();

/// As malloc(), calloc() and memalign(), for any heap but null.
void* allocate(MimallocHeap* heap, std::size_t bytes);
void* allocate_zero(MimallocHeap* heap, std::size_t bytes);
void* allocate_aligned(MimallocHeap* heap, std::size_t bytes, std::size_t alignment);

}  // namespace tasuki::heap

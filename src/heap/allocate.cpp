// mimalloc on the symmetric heap. Its symbols are hidden from the program (RTLD_LOCAL), because its library
// defines malloc() too. Memory goes back to the system by madvise(), which this library carries out for the
// symmetric heap.
#include "heap/allocate.hpp"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>

#include "heap/gate.hpp"

namespace tasuki::heap {
namespace {

/// So that every block can hold what malloc's must: two words, aligned.
constexpr std::size_t kBytesMin = 16;

template <class Function>
bool find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool find_all(void* library, Mimalloc* mimalloc) {
  return find(library, "mi_manage_os_memory_ex", &mimalloc->manage) &&
         find(library, "mi_heap_new_in_arena", &mimalloc->new_heap) &&
         find(library, "mi_heap_malloc", &mimalloc->allocate) &&
         find(library, "mi_heap_zalloc", &mimalloc->allocate_zero) &&
         find(library, "mi_heap_malloc_aligned", &mimalloc->allocate_aligned) &&
         find(library, "mi_heap_realloc", &mimalloc->reallocate) &&
         find(library, "mi_free", &mimalloc->deallocate) &&
         find(library, "mi_usable_size", &mimalloc->usable_bytes) &&
         find(library, "mi_option_set", &mimalloc->set_option);
}

/// A thread ends: mimalloc will take its heap apart. Our key is older than mimalloc's, so this comes first.
void forget_heap() {
  thread_state = {.malloc_heap = nullptr, .heap = nullptr, .no_heap = true};
}

/// What mimalloc gives is in the symmetric heap, or null. Should it ever be elsewhere, free() could not tell.
void* checked(void* block) {
  if (state.holds(block)) [[likely]]
    return block;
  if (block != nullptr) state.mimalloc.deallocate(block);
  return nullptr;
}

}  // namespace

bool load_mimalloc(const char** reason) {
  if (!prepare_gate(forget_heap)) {
    *reason = "the program has no thread-specific key left";
    return false;
  }
  void* library = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr || !find_all(library, &state.mimalloc)) {
    *reason = "libmimalloc.so.2 is not installed, or not of version 2.0.9 or later";
    return false;
  }
  // What mimalloc frees goes back to the system by madvise(), if that is ours (advice.cpp), as soon as a
  // whole segment is free. Otherwise these options forbid it, in mimalloc's terms: large pages, all there.
  const bool committed = !state.in_front;
  const bool large_pages = !state.in_front;
  state.mimalloc.set_option(mi_option_segment_decommit_delay, 0);
  constexpr bool kZero = true;
  constexpr bool kExclusive = true;
  if (!state.mimalloc.manage(reinterpret_cast<void*>(state.base), state.bytes - state.static_bytes, committed,
                             large_pages, kZero, -1, kExclusive, &state.symmetric_heap)) {
    *reason = "mimalloc does not take the symmetric heap";
    return false;
  }
  return true;
}

mi_heap_t* thread_heap() {
  ThreadState& thread = thread_state;
  if (thread.heap != nullptr || thread.no_heap || !state.open) return thread.heap;
  thread.no_heap = true;  // what is allocated meanwhile is libc's
  {
    const Inside inside;
    thread.heap = state.mimalloc.new_heap(state.symmetric_heap);
  }
  thread.no_heap = false;
  if (state.global) thread.malloc_heap = thread.heap;
  return thread.heap;
}

void* allocate(mi_heap_t* heap, std::size_t bytes) {
  const Inside inside;
  return checked(state.mimalloc.allocate(heap, std::max(bytes, kBytesMin)));
}

void* allocate_zero(mi_heap_t* heap, std::size_t bytes) {
  const Inside inside;
  return checked(state.mimalloc.allocate_zero(heap, std::max(bytes, kBytesMin)));
}

void* allocate_aligned(mi_heap_t* heap, std::size_t bytes, std::size_t alignment) {
  const Inside inside;
  return checked(state.mimalloc.allocate_aligned(heap, std::max(bytes, kBytesMin), alignment));
}

void give_back(void* block) {
  const Inside inside;
  state.mimalloc.deallocate(block);
}

void* resize(mi_heap_t* heap, void* block, std::size_t bytes) {
  const Inside inside;
  return checked(state.mimalloc.reallocate(heap, block, std::max(bytes, kBytesMin)));
}

std::size_t usable_bytes(void* block) {
  return state.mimalloc.usable_bytes(block);
}

}  // namespace tasuki::heap

// mimalloc on the symmetric heap. Its symbols are hidden from the program (RTLD_LOCAL), because its library
// defines malloc() too. Memory goes back to the system by madvise(), which this library carries out for the
// symmetric heap.
#include "heap/allocate.hpp"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "heap/gate.hpp"
#include "heap/kept_blocks.hpp"

namespace tasuki::heap {
namespace {

/// So that every block can hold what malloc's must: two words, aligned.
constexpr std::size_t kBytesMin = 16;
constexpr std::size_t kPageBytes = 4096;
/// The option of mimalloc that says after how many ms freed memory goes back to the system: its number
/// in 2.0.9, and since 2.1.
constexpr int kSegmentDecommitDelay = 23;
constexpr int kPurgeDelay = 15;
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

constinit KeptBlocks kept;

/// Whether a block that may be kept has begun in one of the pieces of 64 KiB that share an entry: so a free()
/// of a small block need not ask mimalloc for its size.
constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
constexpr std::size_t kPieces = std::size_t{1} << 16;
constinit std::atomic<bool> has_large[kPieces];

std::atomic<bool>& piece_of(const void* block) {
  return has_large[reinterpret_cast<std::uintptr_t>(block) / kPieceBytes % kPieces];
}

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
         find(library, "mi_option_set", &mimalloc->set_option) &&
         find(library, "mi_version", &mimalloc->version);
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

void free_all(FreedBlock* leaving) {
  while (leaving != nullptr) {
    FreedBlock* next = leaving->next;
    state.mimalloc.deallocate(leaving);
    leaving = next;
  }
}

/// Of a size that is kept, or where memory is short: then once more without what is kept.
template <class Allocate>
[[gnu::noinline]] void* allocate_slowly(std::size_t bytes, Allocate allocate) {
  void* block = checked(allocate());
  if (block == nullptr) {
    FreedBlock* leaving = kept.drop_all();
    if (leaving == nullptr) return nullptr;
    free_all(leaving);
    block = checked(allocate());
  }
  if (block != nullptr && KeptBlocks::is_for(bytes)) piece_of(block).store(true, std::memory_order_relaxed);
  return block;
}

/// What `allocate()` gets from mimalloc for a request of `bytes`.
template <class Allocate>
[[gnu::always_inline]] inline void* take_fresh(std::size_t bytes, Allocate allocate) {
  if (!KeptBlocks::is_for(bytes)) [[likely]] {
    if (void* block = checked(allocate())) [[likely]]
      return block;
  }
  return allocate_slowly(bytes, allocate);
}

[[gnu::always_inline]] inline void* take_any(MimallocHeap* heap, std::size_t bytes) {
  if (KeptBlocks::is_for(bytes)) [[unlikely]] {
    if (void* block = kept.take(bytes, kBytesMin)) return block;
  }
  return take_fresh(bytes, [=] { return state.mimalloc.allocate(heap, std::max(bytes, kBytesMin)); });
}

/// All of the block, or what was taken from the system of one that is too large to be kept whole.
void* set_to_zero(FreedBlock* block, std::size_t bytes) {
  const std::size_t had = block->bytes;
  const std::size_t resident = block->resident;
  auto* memory = reinterpret_cast<std::byte*>(block);
  std::memset(memory, 0, std::min(bytes, resident));
  const std::size_t end = had - std::min(had - resident, kPageBytes);  // its last page was not given back
  if (bytes > end) std::memset(memory + end, 0, bytes - end);
  return memory;
}

/// Gives back what lies behind the first kHeadBytes. Returns how much is left, 0 when that cannot be.
std::size_t trim(void* block, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t from = (begin + KeptBlocks::kHeadBytes) & ~(kHugePageBytes - 1);
  const std::uintptr_t to = (begin + bytes) & ~(kPageBytes - 1);
  if (from <= begin || from >= to) return bytes <= KeptBlocks::kHeadBytes ? bytes : 0;
  return madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED) == 0 ? from - begin : 0;
}

[[gnu::noinline]] void keep_or_free_large(void* block) {
  const std::size_t bytes = state.mimalloc.usable_bytes(block);
  if (!KeptBlocks::is_for(bytes)) return state.mimalloc.deallocate(block);
  const std::size_t resident = bytes > KeptBlocks::kBlockBytesMax ? trim(block, bytes) : bytes;
  if (resident == 0) return state.mimalloc.deallocate(block);
  free_all(kept.keep(block, bytes, resident));
}

void keep_or_free(void* block) {
  if (piece_of(block).load(std::memory_order_relaxed)) [[unlikely]]
    return keep_or_free_large(block);
  state.mimalloc.deallocate(block);
}

/// realloc() of a block that is, or is to be, of a size that is kept.
void* resize_large(MimallocHeap* heap, void* block, std::size_t had, std::size_t bytes) {
  if (bytes <= had && bytes >= had / 2) return block;
  void* other = take_any(heap, bytes);
  if (other == nullptr) return nullptr;
  std::memcpy(other, block, std::min(had, bytes));
  keep_or_free(block);
  return other;
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
  state.mimalloc.set_option(state.mimalloc.version() < 210 ? kSegmentDecommitDelay : kPurgeDelay, 0);
  constexpr bool kZero = true;
  constexpr bool kExclusive = true;
  if (!state.mimalloc.manage(reinterpret_cast<void*>(state.base), state.bytes - state.static_bytes, committed,
                             large_pages, kZero, -1, kExclusive, &state.symmetric_heap)) {
    *reason = "mimalloc does not take the symmetric heap";
    return false;
  }
  return true;
}

MimallocHeap* thread_heap() {
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

void* allocate(MimallocHeap* heap, std::size_t bytes) {
  const Inside inside;
  return take_any(heap, bytes);
}

void* allocate_zero(MimallocHeap* heap, std::size_t bytes) {
  const Inside inside;
  if (KeptBlocks::is_for(bytes)) {
    if (FreedBlock* block = kept.take(bytes, kBytesMin)) return set_to_zero(block, bytes);
  }
  return take_fresh(bytes, [=] { return state.mimalloc.allocate_zero(heap, std::max(bytes, kBytesMin)); });
}

void* allocate_aligned(MimallocHeap* heap, std::size_t bytes, std::size_t alignment) {
  const Inside inside;
  if (KeptBlocks::is_for(bytes)) {
    if (void* block = kept.take(bytes, alignment)) return block;
  }
  return take_fresh(
      bytes, [=] { return state.mimalloc.allocate_aligned(heap, std::max(bytes, kBytesMin), alignment); });
}

void give_back(void* block) {
  const Inside inside;
  keep_or_free(block);
}

void* resize(MimallocHeap* heap, void* block, std::size_t bytes) {
  const Inside inside;
  const std::size_t had = state.mimalloc.usable_bytes(block);
  if (KeptBlocks::is_for(had) || KeptBlocks::is_for(bytes)) return resize_large(heap, block, had, bytes);
  return checked(state.mimalloc.reallocate(heap, block, std::max(bytes, kBytesMin)));
}

void mend_kept_blocks_after_fork() {
  kept.reset_after_fork();
}

std::size_t usable_bytes(void* block) {
  return state.mimalloc.usable_bytes(block);
}

}  // namespace tasuki::heap

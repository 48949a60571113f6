// malloc() & co., as programs call them. The new and delete of C++ come here by malloc().
//
// Each asks the symmetric heap first, when malloc is to be global, and libc otherwise; what is given back
// goes where its address says. errno is as malloc's: ENOMEM where null is returned, else unchanged.
#include <dlfcn.h>
#include <malloc.h>

#include <cerrno>
#include <cstring>

#include "heap/allocate.hpp"
#include "heap/state.hpp"

// What glibc offers to libraries that put their own malloc in front of it.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* block);
}

namespace tasuki::heap {
namespace {

constexpr std::size_t kPageBytes = 4096;

/// The heap that `caller` is to have from malloc(), or null for libc's.
MimallocHeap* malloc_heap(const void* caller) {
  if (state.is_libc(caller)) [[unlikely]]
    return nullptr;
  MimallocHeap* heap = thread_state.malloc_heap;
  if (heap != nullptr) [[likely]]
    return heap;
  return state.global ? thread_heap() : nullptr;
}

void* take_aligned(const void* caller, std::size_t alignment, std::size_t bytes) {
  if (MimallocHeap* heap = malloc_heap(caller)) {
    const int before = errno;
    if (void* block = allocate_aligned(heap, bytes, alignment)) return block;
    errno = before;
  }
  return __libc_memalign(alignment, bytes);
}

std::size_t usable_bytes_of_libc(void* block) {
  using Usable = std::size_t (*)(void*);
  static const auto usable = reinterpret_cast<Usable>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  return usable != nullptr ? usable(block) : 0;
}

/// A block of the symmetric heap that the symmetric heap cannot make larger goes on in libc's memory.
void* leave_symmetric_heap(void* block, std::size_t bytes) {
  void* other = __libc_malloc(bytes);
  if (other == nullptr) return nullptr;
  const std::size_t had = usable_bytes(block);
  std::memcpy(other, block, had < bytes ? had : bytes);
  give_back(block);
  return other;
}

bool is_power_of_two(std::size_t number) {
  return number != 0 && (number & (number - 1)) == 0;
}

}  // namespace
}  // namespace tasuki::heap

using namespace tasuki::heap;

extern "C" {

[[gnu::visibility("default")]] void* malloc(std::size_t bytes) noexcept {
  if (MimallocHeap* heap = malloc_heap(__builtin_return_address(0))) [[likely]] {
    const int before = errno;
    if (void* block = allocate(heap, bytes)) [[likely]]
      return block;
    errno = before;
  }
  return __libc_malloc(bytes);
}

[[gnu::alias("malloc"), gnu::malloc, gnu::alloc_size(1)]] void* tasuki_heap_own_malloc(
    std::size_t bytes) noexcept;

[[gnu::visibility("default")]] void free(void* block) noexcept {
  if (state.holds(block)) [[likely]] {
    give_back(block);
  } else {
    __libc_free(block);
  }
}

[[gnu::visibility("default")]] void* calloc(std::size_t count, std::size_t bytes) noexcept {
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) {
    errno = ENOMEM;
    return nullptr;
  }
  if (MimallocHeap* heap = malloc_heap(__builtin_return_address(0))) {
    const int before = errno;
    if (void* block = allocate_zero(heap, all)) return block;
    errno = before;
  }
  return __libc_calloc(count, bytes);
}

[[gnu::visibility("default")]] void* realloc(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return malloc(bytes);
  if (!state.holds(block)) return __libc_realloc(block, bytes);
  if (bytes == 0) {  // as glibc does
    give_back(block);
    return nullptr;
  }
  if (MimallocHeap* heap = thread_heap()) {
    const int before = errno;
    if (void* moved = resize(heap, block, bytes)) return moved;
    errno = before;
  }
  return leave_symmetric_heap(block, bytes);
}

[[gnu::visibility("default")]] void* reallocarray(void* block, std::size_t count,
                                                  std::size_t bytes) noexcept {
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(block, all);
}

[[gnu::visibility("default")]] void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  if (!is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return take_aligned(__builtin_return_address(0), alignment, bytes);
}

[[gnu::visibility("default")]] void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return memalign(alignment, bytes);
}

[[gnu::visibility("default")]] int posix_memalign(void** block, std::size_t alignment,
                                                  std::size_t bytes) noexcept {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int before = errno;
  void* taken = take_aligned(__builtin_return_address(0), alignment, bytes);
  errno = before;
  if (taken == nullptr) return ENOMEM;
  *block = taken;
  return 0;
}

[[gnu::visibility("default")]] void* valloc(std::size_t bytes) noexcept {
  return take_aligned(__builtin_return_address(0), kPageBytes, bytes);
}

[[gnu::visibility("default")]] void* pvalloc(std::size_t bytes) noexcept {
  const std::size_t rounded = (bytes + kPageBytes - 1) & ~(kPageBytes - 1);
  if (rounded < bytes) {
    errno = ENOMEM;
    return nullptr;
  }
  return take_aligned(__builtin_return_address(0), kPageBytes, rounded);
}

[[gnu::visibility("default")]] std::size_t malloc_usable_size(void* block) noexcept {
  if (block == nullptr) return 0;
  return state.holds(block) ? usable_bytes(block) : usable_bytes_of_libc(block);
}

[[gnu::visibility("default")]] void cfree(void* block) noexcept {
  free(block);
}

}  // extern "C"

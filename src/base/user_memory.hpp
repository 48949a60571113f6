// Memory whose size the user's arguments determine: buffers of a message's size, copies of arrays that a call
// was given, what is built entry by entry from them. Where it is not available the call returns an error
// (MPI_ERR_NO_MEM) and the program goes on: there are no exceptions, and any other allocation ends the
// program when memory is out.
//
// Such memory is allocated in two ways:
//   allocate_for_user()    bytes, or null;
//   try_reserve() and the like   the room of a vector, before it is filled: false, and nothing has changed.
// The second asks the allocator first whether it has as much, and gives it back, as a vector cannot be asked.
// Where another thread takes the memory in between, the vector fails as any small allocation would.
//
// Small allocations, of at most kSmallBytes or of what the number of ranks makes of them, are made as usual.
//
// Thread safety: pure but for the allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/process.hpp"
#include "base/types.hpp"

namespace tasuki {

inline constexpr std::size_t kSmallBytes = 64 << 10;

/// `bytes` of memory, not set to anything, or null where so much is not to be had.
inline std::unique_ptr<std::byte[]> allocate_for_user(Count bytes) {
  return std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[static_cast<std::size_t>(bytes)]);
}

/// kErrNoMem, for the argument that says how much.
inline Code fail_memory(Process& process, const char* argument, Count value) {
  return process.fail(kErrNoMem, "%s = %lld, which takes more memory than can be had, expected less",
                      argument, static_cast<long long>(value));
}

/// Whether `count` times `bytes_each` bytes are to be had at once; few are not asked for.
inline bool has_memory_for(std::size_t count, std::size_t bytes_each) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, bytes_each, &bytes) || bytes > PTRDIFF_MAX) return false;
  if (bytes <= kSmallBytes) return true;
  void* const asked = ::operator new(bytes, std::nothrow);
  ::operator delete(asked);
  return asked != nullptr;
}

/// Room for `size` elements in all, so that they can be appended.
template <class T>
[[nodiscard]] bool try_reserve(std::vector<T>* vector, std::size_t size) {
  if (size <= vector->capacity()) return true;
  if (!has_memory_for(size, sizeof(T))) return false;
  vector->reserve(size);
  return true;
}

template <class T>
[[nodiscard]] bool try_resize(std::vector<T>* vector, std::size_t size) {
  if (!try_reserve(vector, size)) return false;
  vector->resize(size);
  return true;
}

template <class T>
[[nodiscard]] bool try_assign(std::vector<T>* vector, const T* first, std::size_t size) {
  if (!try_reserve(vector, size)) return false;
  vector->assign(first, first + size);
  return true;
}

/// Appends one of many elements: the room doubles where it is full.
template <class T>
[[nodiscard]] bool try_append(std::vector<T>* vector, T element) {
  if (vector->size() == vector->capacity() && !try_reserve(vector, vector->size() * 2 + 4)) return false;
  vector->push_back(std::move(element));
  return true;
}

}  // namespace tasuki

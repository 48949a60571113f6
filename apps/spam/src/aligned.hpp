// Arrays that begin on a cache line.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace spam {

inline constexpr std::size_t kLineBytes = 64;

template <class T>
struct LineAllocator {
  using value_type = T;

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}  // NOLINT: as the standard's

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{kLineBytes}));
  }
  void deallocate(T* memory, std::size_t) { ::operator delete (memory, std::align_val_t{kLineBytes}); }
  /// resize() leaves memory alone: the thread that writes it first is the one that works on it.
  template <class U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... A>
  void construct(U* at, A&&... value) {
    ::new (static_cast<void*>(at)) U(static_cast<A&&>(value)...);
  }
  bool operator==(const LineAllocator&) const { return true; }
};

template <class T>
using Array = std::vector<T, LineAllocator<T>>;

}  // namespace spam

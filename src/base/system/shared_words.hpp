// Plain data in shared memory that another process may write at the same time: copied number by number, each
// relaxed, so that a reader sees old and new numbers, never half of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tasuki {

template <class T>
void store_words(const T& from, T* shared) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::uint64_t) == 0);
  const auto* const source = reinterpret_cast<const std::uint64_t*>(&from);
  auto* const target = reinterpret_cast<std::uint64_t*>(shared);
  for (std::size_t i = 0; i < sizeof(T) / sizeof(std::uint64_t); ++i)
    __atomic_store_n(&target[i], source[i], __ATOMIC_RELAXED);
}

template <class T>
void load_words(const T& shared, T* to) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::uint64_t) == 0);
  const auto* const source = reinterpret_cast<const std::uint64_t*>(&shared);
  auto* const target = reinterpret_cast<std::uint64_t*>(to);
  for (std::size_t i = 0; i < sizeof(T) / sizeof(std::uint64_t); ++i)
    target[i] = __atomic_load_n(&source[i], __ATOMIC_RELAXED);
}

}  // namespace tasuki

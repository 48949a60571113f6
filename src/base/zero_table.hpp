// ZeroTable: what is kept of each of many, by number, zero at first. Memory is taken by the page, when an
// entry in it is first written: of a million entries that nobody uses there are addresses only. An entry is
// found as in an array, which LazyTable's are not; so this is for what short messages look at.
//
// Entries move when the table grows. Thread safety: none.
//
// Invariant: what no entry of a long table has been written to is the system's one page of zeros, or no page
// at all.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace tasuki {

/// REQUIRES: all bytes zero are a valid Entry, the one that it is at first.
template <class Entry>
class ZeroTable {
  static_assert(std::is_trivially_copyable_v<Entry> && std::is_trivially_destructible_v<Entry>);

 public:
  explicit ZeroTable(std::size_t size = 0) { grow(size); }
  ~ZeroTable() { free(entries_, size_); }
  ZeroTable(const ZeroTable&) = delete;
  ZeroTable& operator=(const ZeroTable&) = delete;

  std::size_t size() const { return size_; }

  /// REQUIRES: number < size().
  Entry& operator[](std::size_t number) { return entries_[number]; }
  const Entry& operator[](std::size_t number) const { return entries_[number]; }

  /// Has at least `size` entries from now on. Without memory the process ends, as where operator new fails.
  void grow(std::size_t size) {
    if (size <= size_) return;
    Entry* grown = nullptr;
    if (is_long(size_)) {  // pages move as they are: a copy would take those that nobody wrote to
      void* const moved = mremap(entries_, size_ * sizeof(Entry), size * sizeof(Entry), MREMAP_MAYMOVE);
      if (moved == MAP_FAILED) std::terminate();
      grown = static_cast<Entry*>(moved);
    } else {
      grown = allocate(size);
      if (size_ != 0) std::memcpy(static_cast<void*>(grown), entries_, size_ * sizeof(Entry));
      free(entries_, size_);
    }
    entries_ = grown;
    size_ = size;
  }

 private:
  static constexpr std::size_t kLongBytes = 64 * 1024;
  static bool is_long(std::size_t size) { return size * sizeof(Entry) >= kLongBytes; }

  static Entry* allocate(std::size_t size) {
    const std::size_t bytes = size * sizeof(Entry);
    if (!is_long(size)) return static_cast<Entry*>(std::memset(::operator new(bytes), 0, bytes));
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    if (mapped == MAP_FAILED) std::terminate();
    madvise(mapped, bytes, MADV_NOHUGEPAGE);  // one entry would take two megabytes
    return static_cast<Entry*>(mapped);
  }
  static void free(Entry* entries, std::size_t size) {
    if (is_long(size)) {
      munmap(entries, size * sizeof(Entry));
    } else {
      ::operator delete(entries);
    }
  }

  Entry* entries_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tasuki

// SharedMutex: a lock for a microsecond, between processes or threads: of elements that accumulates combine,
// and of the tables of the checking mode.
//
// Ownership: lies in memory that its users share; all zero is free. Thread safety: any number of ranks.
#pragma once

#include <atomic>
#include <cstdint>

namespace tasuki::rma {

/// A holder never waits for anything. So a rank that gives the lock back stores a word and wakes nobody, and
/// a rank that waits looks again and again, after longer and longer pauses. A holder that died keeps the
/// lock: not every launcher ends a job then, so a rank that has waited for `nanoseconds_max` aborts with a
/// line.
class SharedMutex {
 public:
  static constexpr std::int64_t kNanosecondsMax = 60'000'000'000;

  void lock(std::int64_t nanoseconds_max = kNanosecondsMax) {
    std::uint32_t free = 0;
    if (!word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed))
      lock_contended(nanoseconds_max);
  }
  void unlock() { word_.store(0, std::memory_order_release); }

 private:
  void lock_contended(std::int64_t nanoseconds_max);

  std::atomic<std::uint32_t> word_;  // 0: free, 1: held
};

}  // namespace tasuki::rma

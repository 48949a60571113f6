// SharedMutex: a lock for a microsecond, between processes or threads: of elements that accumulates combine,
// and of the tables of the checking mode.
//
// Ownership: lies in memory that its users share; all zero is free. Thread safety: any number of ranks.
#pragma once

#include <atomic>
#include <cstdint>

namespace tasuki::rma {

/// A holder never waits for anything. So a rank that gives the lock back stores a word and wakes nobody, and
/// a rank that waits looks again and again, after longer and longer pauses.
class SharedMutex {
 public:
  void lock() {
    std::uint32_t free = 0;
    if (!word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed))
      lock_contended();
  }
  void unlock() { word_.store(0, std::memory_order_release); }

 private:
  void lock_contended();

  std::atomic<std::uint32_t> word_;  // 0: free, 1: held
};

}  // namespace tasuki::rma

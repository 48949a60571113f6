// SharedMutex: a lock for a few instructions, between processes or threads: of accumulates that no processor
// instruction does, and of the tables of the checking mode.
//
// Ownership: lies in memory that its users share; all zero is free. Thread safety: any number of ranks.
#pragma once

#include <atomic>
#include <cstdint>

namespace tasuki::rma {

/// A holder never waits for anything, so waiters may sleep in the kernel.
class SharedMutex {
 public:
  void lock() {
    std::uint32_t free = 0;
    if (!word_.compare_exchange_strong(free, 1, std::memory_order_acquire)) lock_contended();
  }
  void unlock() {
    if (word_.exchange(0, std::memory_order_release) == 2) wake_one();
  }

 private:
  void lock_contended();
  void wake_one();

  std::atomic<std::uint32_t> word_;  // 0: free, 1: held, 2: held and waited for
};

}  // namespace tasuki::rma

// SharedMutex: what happens when it is held.
#include "rma/control/shared_mutex.hpp"

#include <sched.h>

#include <ctime>

#include "base/system/processor_hints.hpp"

namespace tasuki::rma {

// A word that no rank writes means damaged memory: nothing is known of a holder, so a rank that finds it
// takes the lock.
void SharedMutex::lock_contended() {
  constexpr int kLooks = 100;  // the holder is about to be done, if it runs
  constexpr int kYields = 50;
  const timespec pause{0, 20'000};
  for (int turn = 0;; ++turn) {
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    if (found != 1 &&
        word_.compare_exchange_weak(found, 1, std::memory_order_acquire, std::memory_order_relaxed))
      return;
    if (turn < kLooks) {
      relax_processor();
    } else if (turn < kLooks + kYields) {
      sched_yield();
    } else {
      nanosleep(&pause, nullptr);
      turn = kLooks;
    }
  }
}

}  // namespace tasuki::rma

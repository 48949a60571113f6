// SharedMutex: what happens when it is held.
#include "rma/control/shared_mutex.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace tasuki::rma {

// Three states: a rank that finds the lock held marks it as waited for before it sleeps, and takes it as
// such, so that the next holder wakes the next waiter.
void SharedMutex::lock_contended() {
  constexpr int kYields = 4;  // the holder is about to be done, if it runs
  for (int i = 0; i < kYields; ++i) {
    std::uint32_t free = 0;
    if (word_.compare_exchange_strong(free, 1, std::memory_order_acquire)) return;
    sched_yield();
  }
  // A word that no rank writes means damaged memory: nothing is known of a holder, so a rank that
  // finds it does not wait. Nor does a waiter rely on being woken: it looks again after the pause.
  const timespec pause{0, 50'000'000};
  for (;;) {
    const std::uint32_t found = word_.exchange(2, std::memory_order_acquire);
    if (found == 0 || found > 2) return;
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word_), FUTEX_WAIT, 2, &pause, nullptr, 0);
  }
}

void SharedMutex::wake_one() {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word_), FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace tasuki::rma

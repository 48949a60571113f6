// SharedMutex: what happens when it is held.
#include "rma/control/shared_mutex.hpp"

#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/system/clock.hpp"
#include "base/system/processor_hints.hpp"

namespace tasuki::rma {

namespace {

[[noreturn]] void end_late(std::int64_t nanoseconds) {
  std::fprintf(stderr,
               "tasuki: a rank of this node has held a lock of a window's elements for %lld s, which takes a "
               "microsecond: it died in MPI_Accumulate or a call like it, or is stopped\n",
               static_cast<long long>(nanoseconds / 1'000'000'000));
  std::abort();
}

}  // namespace

// A word that no rank writes means damaged memory: nothing is known of a holder, so a rank that finds it
// takes the lock.
void SharedMutex::lock_contended(std::int64_t nanoseconds_max) {
  constexpr int kLooks = 100;  // the holder is about to be done, if it runs
  constexpr int kYields = 50;
  const timespec pause{0, 20'000};
  std::int64_t begin_ns = 0;  // of the pauses
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
      const std::int64_t now_ns = clock_ns();
      if (begin_ns == 0) begin_ns = now_ns;
      if (now_ns - begin_ns > nanoseconds_max) end_late(nanoseconds_max);
      nanosleep(&pause, nullptr);
      turn = kLooks;
    }
  }
}

}  // namespace tasuki::rma

// ProcessLock: taking it by the mutex; favours, which are given and ended seldom.
#include "base/system/process_lock.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/system/clock.hpp"
#include "base/system/processor_hints.hpp"

// It is there in a process that ThreadSanitizer watches, and null elsewhere.
extern "C" {
[[gnu::weak]] void __tsan_init();
}

namespace tasuki {
namespace {

constexpr std::int64_t kLookNs = 1'500;  // between two looks of a thread that waits for its turn
constexpr int kOffersOfDue = 16;         // of its processor, when it has asked for the lock; then it naps
constexpr int kSpins = 200;    // of a thread that waits for the favoured one; then it offers its processor,
constexpr int kOffers = 1000;  // and then sleeps between its looks
constexpr long kNapNanoseconds = 50'000;
constexpr std::uint32_t kTurnsFactor = 4;

void nap(long nanoseconds) {
  const timespec time{0, nanoseconds};
  nanosleep(&time, nullptr);
}

/// Every processor that runs this process has written what it had to, and reads anew.
bool fence_all_processors() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

}  // namespace

bool ProcessLock::may_favour() {
  may_favour_ = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return may_favour_;
}

void ProcessLock::lock_mutex() {
  if (is_wanted() || !mutex_.try_lock()) lock_among_others();
  if (may_favour_) share_or_favour();
}

/// Others wait, or one is inside.
void ProcessLock::lock_among_others() {
  if (is_due_.load(std::memory_order_relaxed)) wait_for_another();
  if (has_turn() && mutex_.try_lock()) {
    overtakes_.fetch_add(1, std::memory_order_relaxed);
    if (turn_of_.load(std::memory_order_relaxed) == kNobody) begin_turn();
    return;
  }
  waiting_.fetch_add(1, std::memory_order_relaxed);
  wait_for_turn();
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  is_due_.exchange(false, std::memory_order_relaxed);
  begin_turn();
}

/// Returns with the mutex.
void ProcessLock::wait_for_turn() {
  std::uint32_t takings = overtakes_.load(std::memory_order_relaxed) - 1;
  std::uint32_t turns = turns_.load(std::memory_order_relaxed);
  std::int64_t turn_ns = kTurnNs;
  std::int64_t looked_ns = clock_ns();
  std::int64_t turn_began_ns = looked_ns;
  for (;;) {
    // A thread that calls again and again is between two calls for less time than kLookNs.
    sched_yield();
    std::int64_t now_ns = clock_ns();
    while (now_ns - looked_ns < kLookNs && turn_of_.load(std::memory_order_relaxed) != kNobody) {
      relax_processor();
      now_ns = clock_ns();
    }
    looked_ns = now_ns;
    const std::uint32_t takings_now = overtakes_.load(std::memory_order_relaxed);
    const bool is_left = std::exchange(takings, takings_now) == takings_now || has_turn();
    if (is_left && mutex_.try_lock()) return;
    if (const std::uint32_t turns_now = turns_.load(std::memory_order_relaxed); turns_now != turns) {
      turns = turns_now;
      turn_began_ns = now_ns;
      turn_ns /= 2;
    } else if (now_ns - turn_began_ns >= turn_ns) {
      break;
    }
  }
  for (int offers = 0;; ++offers) {
    is_due_.exchange(true, std::memory_order_relaxed);  // again: another one's turn ends the demand of all
    for (int spin = 0; spin < kSpins; ++spin) {
      if (mutex_.try_lock()) return;
      relax_processor();
    }
    offers < kOffersOfDue ? static_cast<void>(sched_yield()) : nap(kNapNanoseconds);
  }
}

/// Of a thread that has the mutex, while others wait.
void ProcessLock::begin_turn() {
  turn_of_.exchange(this_thread(), std::memory_order_relaxed);
  turns_.fetch_add(1, std::memory_order_relaxed);
}

/// The mutex has been taken: ends another thread's favour, or gives one to this thread.
void ProcessLock::share_or_favour() {
  if (favoured_.load(std::memory_order_relaxed) != nullptr) return end_favour();
  const Thread self = this_thread();
  if (last_ != self) {
    last_ = self;
    in_a_row_ = 0;
  } else if (++in_a_row_ >= turns_to_favour_) {
    favoured_.store(own_favour(), std::memory_order_release);  // from its next turn on
  }
}

ProcessLock::Favour* ProcessLock::own_favour() {
  const Thread self = this_thread();
  for (Favour& one : favours_) {
    if (one.owner == self) return &one;
  }
  return &favours_.emplace_back(self);
}

void ProcessLock::end_favour() {
  turns_to_favour_ = std::min(turns_to_favour_ * kTurnsFactor, kTurnsToFavourMax);
  in_a_row_ = 0;
  last_ = this_thread();
  const Favour* const ended = favoured_.exchange(nullptr, std::memory_order_relaxed);
  if (!fence_all_processors()) {
    // Forbidden since. A processor keeps nothing that it is to write for a millisecond.
    may_favour_ = false;
    nap(1'000'000);
  }
  waiting_.fetch_add(1, std::memory_order_relaxed);
  for (int looks = 0; ended->inside.load(std::memory_order_acquire); ++looks) {
    if (looks < kSpins) {
      relax_processor();
    } else if (looks < kSpins + kOffers) {
      sched_yield();
    } else {
      nap(kNapNanoseconds);
    }
  }
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  begin_turn();
}

bool threads_are_watched() {
  if (__tsan_init != nullptr) return true;
  const char* const preloaded = std::getenv("LD_PRELOAD");
  return preloaded != nullptr && std::strstr(preloaded, "vgpreload") != nullptr;
}

}  // namespace tasuki

// ProcessLock: the lock that a call holds with MPI_THREAD_MULTIPLE: a mutex that knows whether others wait
// for it, and that no thread waits for longer than the others take a few turns.
//
// A mutex of the system goes to whoever asks first when it is free: a thread that lets go of it and takes it
// again at once has it nearly always, since those that sleep take long to come. That is good for the sum, for
// a turn costs less than a change of threads, and bad for those that sleep. So overtaking is counted: after
// kOvertakesMax turns of others, newcomers let one of those that wait go first.
//
// Thread safety: all of it; the members beside the mutex are relaxed, for they decide what is fair, never
// what is right. They are written by locked instructions alone, which helgrind and drd take for no race.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace tasuki {

class ProcessLock {
 public:
  void lock() {
    if (waiting_.load(std::memory_order_relaxed) == 0 && mutex_.try_lock()) [[likely]]
      return;
    lock_among_others();
  }
  void unlock() { mutex_.unlock(); }

  /// Whether another thread waits for it.
  bool is_wanted() const { return waiting_.load(std::memory_order_relaxed) != 0; }

  /// Returns once a thread that waited has had a turn, or nobody waits; after some offers of the processor in
  /// any case. REQUIRES: this thread does not hold the lock.
  void wait_for_another() const {
    const std::uint32_t before = turns_.load(std::memory_order_relaxed);
    for (int offers = 0; offers < kOffersMax; ++offers) {
      if (!is_wanted() || turns_.load(std::memory_order_relaxed) != before) return;
      sched_yield();
    }
  }

 private:
  static constexpr std::uint32_t kOvertakesMax = 32;
  static constexpr int kOffersMax = 200;

  [[gnu::noinline]] void lock_among_others() {
    if (overtakes_.load(std::memory_order_relaxed) >= kOvertakesMax) wait_for_another();
    if (mutex_.try_lock()) {
      overtakes_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    waiting_.fetch_add(1, std::memory_order_relaxed);
    mutex_.lock();
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    overtakes_.exchange(0, std::memory_order_relaxed);
    turns_.fetch_add(1, std::memory_order_relaxed);
  }

  std::mutex mutex_;
  std::atomic<std::uint32_t> waiting_ = 0;    // threads in lock_among_others()
  std::atomic<std::uint32_t> turns_ = 0;      // of threads that waited; writer: who holds the lock
  std::atomic<std::uint32_t> overtakes_ = 0;  // since the last of these turns; writer: who holds the lock
};

}  // namespace tasuki

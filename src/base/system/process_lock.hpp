// ProcessLock: the lock that a call holds with MPI_THREAD_MULTIPLE: a mutex that knows whether others wait
// for it, that no thread waits for longer than the others take a few turns, and that costs a thread which is
// the only one to call next to nothing.
//
// A change of threads costs as much as a hundred short calls: lines of the cache move, and often the system
// is asked. So a thread that calls again and again keeps the lock for a *turn* of many calls, and is asked
// for it after kTurnNs. Those that wait meanwhile do not sleep on the mutex, which would make each unlock a
// call of the system: they look now and then, offer their processor between two looks, and take the lock at
// once where nobody has taken it since the last look. The longer one has waited, the sooner it asks; from
// then on newcomers let it go first. One that has asked in vain for long naps between its looks.
//
// Taking and giving back a mutex are two locked instructions, which wait for all that the processor has
// written: nearly half of what a short message takes. So a thread that has taken it many times with no other
// one between is *favoured*: it says that it is inside by a plain store to a word of its own, and looks
// whether it is still favoured. Another thread takes the mutex, ends the favour, has every processor see
// that (membarrier), and waits until the favoured thread is not inside. As the favoured thread writes and
// then reads, and the other one writes, runs a barrier on all processors and then reads, one of the two sees
// the other. Each time the favour was ended it takes longer to be favoured again. docs/models/favour.pml is
// this as a model; there one word for all favoured threads is caught: a thread that was, and comes late,
// would clear another's.
//
// Thread safety: all of it; the members beside the mutex are relaxed where they decide what is fair, never
// what is right. These are written by locked instructions alone, which helgrind and drd take for no race.
// Favours they would not understand: may_favour() is not called where they watch.
//
// Invariants:
//  1. The thread that holds the mutex and has seen the favoured thread's `inside` false since it ended the
//  favour holds the lock. So does the favoured thread while its `inside` is true, and it has looked since it
//  wrote that.
//  2. `favoured_` is written by who holds the mutex, and a thread's `inside` by that thread.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

namespace tasuki {

class ProcessLock {
 public:
  void lock() {
    if (!enter_favoured()) lock_mutex();
  }
  void unlock() {
    Favour* const favour = by_favour_;
    if (favour == nullptr) return mutex_.unlock();
    by_favour_ = nullptr;
    favour->inside.store(false, std::memory_order_release);
  }

  /// unlock(), and this thread will not be back soon: others need not leave it the rest of its turn.
  void let_go() {
    if (is_wanted()) turn_of_.exchange(kNobody, std::memory_order_relaxed);
    unlock();
  }

  /// From now on a thread may be favoured, where the system has membarrier; returns whether it has. Before
  /// other threads use the lock.
  bool may_favour();
  /// Whether a thread is at present.
  bool is_favouring() const { return favoured_.load(std::memory_order_relaxed) != nullptr; }
  /// So many turns in a row a thread takes before it is favoured for the first time.
  static constexpr std::uint32_t kTurnsToFavourMin = 256;

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
  using Thread = std::uintptr_t;
  static Thread this_thread() {
#if defined(__GNUC__) && !defined(__clang__)
    return reinterpret_cast<Thread>(__builtin_thread_pointer());  // with no call
#else
    return static_cast<Thread>(pthread_self());
#endif
  }

  static constexpr std::int64_t kTurnNs = 50'000;
  static constexpr int kOffersMax = 200;
  static constexpr Thread kNobody = 0;
  static constexpr std::uint32_t kTurnsToFavourMax = 1 << 20;

  /// Of a thread that is favoured, or was.
  struct alignas(64) Favour {
    explicit Favour(Thread thread) : owner(thread) {}
    const Thread owner;
    std::atomic<bool> inside = false;  // writer: the owner; release and acquire
  };

  bool enter_favoured() {
    Favour* const favour = favoured_.load(std::memory_order_acquire);
    if (favour == nullptr || favour->owner != this_thread()) return false;
    favour->inside.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // end_favour() has the other half
    if (favoured_.load(std::memory_order_relaxed) == favour) [[likely]] {
      by_favour_ = favour;
      return true;
    }
    favour->inside.store(false, std::memory_order_release);
    return false;
  }

  void lock_mutex();
  void lock_among_others();
  bool has_turn() const {
    const Thread whose = turn_of_.load(std::memory_order_relaxed);
    return whose == kNobody || whose == this_thread();
  }
  void wait_for_turn();
  void begin_turn();
  void share_or_favour();
  Favour* own_favour();
  void end_favour();

  std::mutex mutex_;
  std::atomic<std::uint32_t> waiting_ = 0;    // threads that have asked for it, in lock()
  std::atomic<std::uint32_t> turns_ = 0;      // of threads that waited; writer: who holds the lock
  std::atomic<std::uint32_t> overtakes_ = 0;  // takings while others waited; writer: who holds the lock
  std::atomic<Thread> turn_of_ = kNobody;     // who may take the lock again while others wait
  std::atomic<bool> is_due_ = false;          // a thread has waited for long enough
  std::atomic<Favour*> favoured_ = nullptr;   // release and acquire, of the owner; else see invariant 1
  Favour* by_favour_ = nullptr;               // the lock is held so; of who holds it, as all that follow
  std::deque<Favour> favours_;                // of all threads that have been favoured
  bool may_favour_ = false;
  Thread last_ = kNobody;  // who took the mutex last
  std::uint32_t in_a_row_ = 0;
  std::uint32_t turns_to_favour_ = kTurnsToFavourMin;
};

/// Whether a tool watches the threads of this process that knows locks by their mutexes: ThreadSanitizer, or
/// one of valgrind.
bool threads_are_watched();

}  // namespace tasuki

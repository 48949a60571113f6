// Progress: the one loop in which a rank moves its messages, and the one way to wait.
//
// A part that has work to do while a rank waits (the point-to-point engine, nonblocking collectives)
// registers a ProgressHook. wait_until() polls all hooks until its condition holds: it spins, then offers its
// processor to others until some time has passed, then sleeps until a peer wakes it. A Clock and a
// Waiter, which are handed in, tell the time and how to offer and to sleep: a rank may live in another time
// than the real one.
//
// Where several threads wait, all of them poll at first. Of those that have been idle for long one sleeps in
// the link, where peers wake it; the others nap, each in a place of its own. Whoever polls looks whether what
// one of them waits for has come, and wakes that one alone.
//
// Thread safety: the caller holds the process lock if there is one; wait_until() lets go of it between polls,
// a Release (below) while something long is done that needs no lock. docs/threads.md has the discipline.
//
// Invariants:
//  1. A hook may be added or removed by a hook that runs.
//  2. poll() never runs inside itself; a nested call returns false at once. While a hook has let go of the
//     lock another thread may poll, that hook too: it sees to it that nothing is done twice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "base/calls/call_board.hpp"
#include "base/calls/stack_node.hpp"
#include "base/calls/unlocked.hpp"
#include "base/system/process_lock.hpp"
#include "base/variables/counters.hpp"
#include "base/variables/events.hpp"

namespace tasuki {

class Clock;
class Node;
class Waiter;

/// Fills in the report that was asked for (base/calls/call_board.hpp).
class Answerer {
 public:
  /// `asked` is the number of the question; the present wait, if there is one, began at `since_ns`.
  virtual void answer(std::uint64_t asked, std::int64_t since_ns) = 0;

 protected:
  ~Answerer() = default;
};

class ProgressHook {
 public:
  /// Does what can be done now without waiting. Returns whether anything moved.
  virtual bool poll() = 0;

 protected:
  ~ProgressHook() = default;
};

class Progress {
 public:
  /// `lock` is the process lock; set_locking() tells whether it is held (MPI_THREAD_MULTIPLE).
  Progress(const Clock& clock, Waiter& waiter, Node& node, ProcessLock& lock, std::int64_t spin_count,
           Counters& counters, const EventSwitch& events);

  /// Lets go of the process lock for a scope, so that the rank's other threads go on: while much is copied,
  /// packed or reduced, a file is read or written, a user's function runs. Where the lock is not held it does
  /// nothing. Meanwhile other threads may change all that the lock guards: what the scope uses is its
  /// thread's own or marked as in use, and what was read before is read again behind it.
  class Release {
   public:
    /// `bytes`: how much is to be copied; a little is not worth it.
    explicit Release(Progress& progress, std::int64_t bytes = Unlocked::kBytesMin)
        : poll_(progress.locking_ && bytes >= Unlocked::kBytesMin ? &progress : nullptr),
          unlocked_(poll_.progress != nullptr ? &progress.lock_ : nullptr, progress.call_) {}

   private:
    /// What another thread's poll is not inside of, though this thread may be amid one.
    struct PollLeft {
      explicit PollLeft(Progress* of)
          : progress(of), was_polling(of != nullptr && std::exchange(of->polling_, false)) {}
      ~PollLeft() {
        if (progress != nullptr) [[unlikely]]
          progress->polling_ = was_polling;
      }
      PollLeft(const PollLeft&) = delete;
      PollLeft& operator=(const PollLeft&) = delete;
      Progress* const progress;
      const bool was_polling;
    };

    const PollLeft poll_;  // before the next: what it writes needs the lock
    const Unlocked unlocked_;
  };
  bool is_locking() const { return locking_; }
  /// Whether a hook runs: what is long is better left to the hook whose it is.
  bool is_polling() const { return polling_; }

  /// The time by the clock of this rank's waits: of deadlines, too.
  std::int64_t now_ns() const;

  void set_locking(bool locking) { locking_ = locking; }
  /// Polls before the processor is first offered to others; 0 where more processes than processors compute.
  void set_spin_count(std::int64_t spin_count) { spin_count_ = static_cast<std::uint32_t>(spin_count); }
  /// The processor that a rank which waits goes to now and then (Node::home_processor()); -1: none.
  void set_home(int processor) { home_ = processor; }
  /// What is kept of a call while the lock is let go.
  void set_call(const PresentCall& call) { call_ = call; }
  /// Whenever this rank has nothing to do it looks whether a report is asked for at its board.
  void set_board(CallBoard& board, Answerer& answerer) {
    board_ = &board;
    answerer_ = &answerer;
  }
  void add(ProgressHook* hook);
  void remove(ProgressHook* hook);

  /// One sweep over all hooks. Returns whether anything moved; if so, wakes the rank's other threads that
  /// sleep.
  bool poll();

  /// For a rank that may never have to wait: poll(), and an answer where its board has a question.
  void poll_in_passing() {
    poll();
    look_at_board();
  }

  /// Something of this rank has moved: counted on its board, where no change means that it stands still.
  /// poll() does it too.
  void note_move();

  /// poll() for calls that poll once and return (test, probe). Where the program calls them in a loop and
  /// nothing comes, the rank offers its processor to others now and then.
  bool poll_once();

  /// Whether a processor that spins is not taken from another rank.
  bool may_spin() const { return spin_count_ != 0; }

  /// For a wait that checks one place only, where what it waits for most likely comes: how often it may check
  /// there between two polls. 1 where a processor that spins is taken from another rank.
  std::uint32_t checks_per_poll() const { return std::clamp(spin_count_, 1U, kChecksPerPollMax); }

  /// Polls, after `checks` of them in all. Returns whether to check on: false when anything moved, which may
  /// be what is waited for, and when it is time for wait_until().
  bool spins_on(std::uint32_t checks) {
    return checks < spin_count_ && (!locking_ || is_alone_inside()) && !poll();
  }

  /// For a thread that does nothing but make progress: polls, and sleeps where others would spin, until
  /// `over`, which wake() follows. REQUIRES: it holds the process lock.
  void help_until(const bool& over);
  /// Whether this is that thread: it calls no function of the user's.
  bool is_helper() const { return helper_ == std::this_thread::get_id(); }

  /// Something that the rank's other threads may wait for has happened outside of poll().
  void wake();

  /// Wakes a peer that may wait for what this rank has just changed in shared memory: Node::wake(). The
  /// change is to be seq_cst; where sleeps_with_fence(), release is enough.
  void wake_peer(int endpoint);
  bool sleeps_with_fence(int endpoint) const;

  /// Something is under way of whose end nobody tells this rank (a transfer of a file): while it is, a rank
  /// that sleeps looks again soon.
  void set_short_sleeps(bool on) { short_sleeps_ = on; }

  /// Said by `done()` of wait_until(): what peers have to know of this wait to end it has changed, and is to
  /// be fenced before this rank sleeps.
  void look_again() { look_again_ = true; }

  /// Returns once `done()` is true; polls at least once if it is not true at first. What makes it true is
  /// poll(), a thread of this rank that calls wake(), or a peer that calls Node::wake().
  template <class Done>
  void wait_until(Done&& done) {
    Patience patience;
    wait_until(done, patience);
  }

  /// How long a wait has been idle; zero at first.
  struct Patience {
    std::uint32_t idle_polls = 0;
    std::int64_t sleep_at_ns = 0;  // by the clock; 0: it has not looked at it yet
  };

  /// The part of a wait before it is time to sleep, for a `done()` that peers need not know of until then.
  /// Returns whether `done()` was true; if not, wait_until() with the same `patience` is to follow.
  template <class Done>
  bool wait_awake(Done&& done, Patience& patience) {
    if (locking_) [[unlikely]]
      return stays_awake(Napping(&napping_, done), patience);
    while (!done()) {
      if (poll()) {
        patience = Patience{};
      } else if (!pause(patience)) {
        return false;
      }
    }
    return true;
  }

  /// Goes on with a wait that has been idle as long as `patience` says.
  template <class Done>
  void wait_until(Done&& done, Patience& patience) {
    if (locking_) [[unlikely]]
      return wait_among_threads(Napping(&napping_, done), patience);
    while (!wait_awake(done, patience)) {
      const std::uint32_t ticket = arm();
      look_again_ = false;
      if (done()) return disarm();
      if (look_again_) {
        disarm();
      } else if (!sleep(ticket)) {
        const bool moved = poll();
        if (!moved && !done()) continue;
        ++counters_.late_wakes;
        if (!moved) return;
      }
    }
  }

 private:
  static constexpr std::uint32_t kChecksPerPollMax = 64;

  /// A thread that waits, and what for. Others may look while it sleeps or naps.
  class Napping : public StackNode<Napping> {
   public:
    template <class Done>
    Napping(Napping** list, Done& done)
        : StackNode(list),
          done_(const_cast<void*>(static_cast<const void*>(&done))),
          call_([](void* function) -> bool { return (*static_cast<Done*>(function))(); }) {}
    /// Whether it is over, as things are: a message that a probe waits for may be taken by another one. Asked
    /// by any thread; of its own as the last thing before the wait ends.
    bool look() { return call_(done_); }

    enum class Place : std::uint8_t { kAwake, kNap, kLink };
    Place place = Place::kAwake;
    std::uint64_t polls_seen = 0;  // of all threads, after this one's last
    bool others_poll = false;
    std::binary_semaphore bell{0};

   private:
    void* done_;
    bool (*call_)(void*);
  };

  /// Whether no other thread of the rank is known to be in MPI.
  bool is_alone_inside() const { return napping_ == nullptr && !lock_.is_wanted(); }
  bool stays_awake(Napping&& mine, Patience& patience);
  void wait_among_threads(Napping&& mine, Patience& patience);
  bool is_over_awake(Napping& mine, Patience& patience);
  bool poll_for(Napping& mine);
  void nap(Napping& mine);
  void sleep_for_all(Napping& mine);
  void wake_those_done();
  bool pause(
      Patience& patience);  // spins or yields, by how long it has been idle; false: it is time to sleep
  void offer_processor();   // the process lock with it
  void give_way();          // to a thread that waits for the lock
  void give_others_turn();
  Unlocked let_go() { return {locking_ ? &lock_ : nullptr, call_}; }
  void look_for_home(std::int64_t now_ns);
  std::uint64_t question() const;
  void look_at_board();
  void answer(std::uint64_t asked);
  void note_wait(std::int64_t now_ns);
  std::uint32_t arm();
  bool sleep(std::uint32_t ticket);  // unless poll() moves something; disarms. false: not woken in time
  void disarm();

  const Clock& clock_;
  Waiter& waiter_;
  Node& node_;
  ProcessLock& lock_;
  Counters& counters_;
  const EventSwitch& events_;
  std::uint32_t spin_count_;
  bool locking_ = false;
  bool polling_ = false;
  bool look_again_ = false;
  bool wake_wanted_ = false;    // wake() came amid a poll()
  Napping* napping_ = nullptr;  // the threads that wait
  std::thread::id helper_;      // of help_until()
  bool short_sleeps_ = false;
  std::uint32_t idle_polls_ = 0;  // in a row
  PresentCall call_;
  CallBoard* board_ = nullptr;
  Answerer* answerer_ = nullptr;
  std::uint64_t answered_ = 0;       // the last question
  std::uint64_t waits_in_ = 0;       // the call that has waited long enough to look at the clock
  std::int64_t waits_since_ns_ = 0;  // when it did
  int home_ = -1;
  std::int64_t home_look_ns_ = 0;      // when to look next whether this rank is at home
  std::int64_t home_interval_ns_ = 0;  // between two looks
  int sleepers_ = 0;                   // threads of this process inside sleep(); guarded by the process lock
  std::vector<ProgressHook*> hooks_;   // null: a place that is free
};

}  // namespace tasuki

// Progress: the one loop in which a rank moves its messages, and the one way to wait.
//
// A part that has work to do while a rank waits (the point-to-point engine, nonblocking collectives)
// registers a ProgressHook. wait_until() polls all hooks until its condition holds: it spins, then offers its
// processor to others until some time has passed, then sleeps until a peer wakes it. A Clock and a
// Waiter, which are handed in, tell the time and how to offer and to sleep: a rank may live in another time
// than the real one.
//
// Thread safety: the caller holds the process lock if there is one; wait_until() lets go of it between polls.
//
// Invariants:
//  1. A hook may be added or removed by a hook that runs.
//  2. poll() never runs inside itself; a nested call returns false at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/calls/call_board.hpp"
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
  /// `mutex` is the process lock; `locking` tells whether it is held (MPI_THREAD_MULTIPLE).
  Progress(const Clock& clock, Waiter& waiter, Node& node, std::mutex& mutex, std::int64_t spin_count,
           Counters& counters, const EventSwitch& events);

  /// The time by the clock of this rank's waits: of deadlines, too.
  std::int64_t now_ns() const;

  void set_locking(bool locking) { locking_ = locking; }
  /// Polls before the processor is first offered to others; 0 where more processes than processors compute.
  void set_spin_count(std::int64_t spin_count) { spin_count_ = static_cast<std::uint32_t>(spin_count); }
  /// The processor that a rank which waits goes to now and then (Node::home_processor()); -1: none.
  void set_home(int processor) { home_ = processor; }
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
  bool spins_on(std::uint32_t checks) { return checks < spin_count_ && !locking_ && !poll(); }

  /// Something that the rank's other threads may wait for has happened outside of poll().
  void wake();

  /// Wakes a peer that may wait for what this rank has just changed in shared memory: Node::wake(). The
  /// change is to be seq_cst; where sleeps_with_fence(), release is enough.
  void wake_peer(int endpoint);
  bool sleeps_with_fence(int endpoint) const;

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

  bool pause(
      Patience& patience);  // spins or yields, by how long it has been idle; false: it is time to sleep
  void offer_processor();   // the process lock with it
  LineValues let_go();      // of the process lock; another thread's call may stand on the line then
  void take_back(const LineValues& mine);
  void look_for_home(std::int64_t now_ns);
  void look_at_board();
  void note_wait(std::int64_t now_ns);
  std::uint32_t arm();
  bool sleep(std::uint32_t ticket);  // unless poll() moves something; disarms. false: not woken in time
  void disarm();

  const Clock& clock_;
  Waiter& waiter_;
  Node& node_;
  std::mutex& mutex_;
  Counters& counters_;
  const EventSwitch& events_;
  std::uint32_t spin_count_;
  bool locking_ = false;
  bool polling_ = false;
  bool look_again_ = false;
  std::uint32_t idle_polls_ = 0;  // in a row
  CallBoard* board_ = nullptr;
  Answerer* answerer_ = nullptr;
  std::uint64_t answered_ = 0;       // the last question
  std::uint64_t waits_in_ = 0;       // the call that has waited long enough to look at the clock
  std::int64_t waits_since_ns_ = 0;  // when it did
  int home_ = -1;
  std::int64_t home_look_ns_ = 0;      // when to look next whether this rank is at home
  std::int64_t home_interval_ns_ = 0;  // between two looks
  int sleepers_ = 0;                   // threads of this process inside sleep(); guarded by the process lock
  std::vector<ProgressHook*> hooks_;
  std::size_t next_hook_ = 0;  // of the sweep that runs
};

}  // namespace tasuki

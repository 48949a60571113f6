// Progress: the sweep over the hooks, and how a wait goes from spinning to sleeping.
#include "progress/progress.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/calls/call_board.hpp"
#include "base/system/clock.hpp"
#include "base/system/processor_hints.hpp"
#include "link/waiter.hpp"
#include "node/node.hpp"
#include "node/processors.hpp"

namespace tasuki {
namespace {

// How long a rank that has nothing to do offers its processor to others before it sleeps. Where ranks share
// processors an offer takes a microsecond, and a sleep some fifty: a processor that all its ranks have left
// halts, and has to be woken. So it is worth it to offer for as long as a few sleeps take; by the clock,
// since an offer that no other process takes is over at once, and one that is taken may last long.
constexpr std::int64_t kOfferNanoseconds = 200'000;
// A rank that offers its processor goes home so often at most; less often the more it is taken away again,
// for then a process that does not wait is at its home.
constexpr std::int64_t kHomeIntervalMinNanoseconds = 4'000'000;
constexpr std::int64_t kHomeIntervalMaxNanoseconds = 1'000'000'000;
constexpr std::uint32_t kPollsPerLook = 1024;              // at the board, of a rank that spins
constexpr std::int64_t kSleepNanosecondsMax = 50'000'000;  // a backstop: every event rings
constexpr std::int64_t kNapNanosecondsAlone = 1'000'000;   // until a thread sees that no other one polls
constexpr std::uint32_t kPollsPerLookAtOthers = 16;        // and at what they wait for
constexpr std::uint32_t kPollsPerTurn = 16;                // of a thread that spins
constexpr std::uint32_t kMovesPerTurn = 16;                // of one for which much comes
// While something is under way that does not ring a rank offers its processor for longer, and sleeps less.
constexpr std::int64_t kShortSleepOfferNanoseconds = 2'000'000;
constexpr std::int64_t kShortSleepNanoseconds = 100'000;

}  // namespace

Progress::Progress(const Clock& clock, Waiter& waiter, Node& node, ProcessLock& lock, std::int64_t spin_count,
                   Counters& counters, const EventSwitch& events)
    : clock_(clock),
      waiter_(waiter),
      node_(node),
      lock_(lock),
      counters_(counters),
      events_(events),
      spin_count_(static_cast<std::uint32_t>(spin_count)) {}

void Progress::add(ProgressHook* hook) {
  const auto free = std::find(hooks_.begin(), hooks_.end(), nullptr);
  if (free != hooks_.end()) {
    *free = hook;
  } else {
    hooks_.push_back(hook);
  }
}

/// The others keep their places: several threads may be amid a sweep.
void Progress::remove(ProgressHook* hook) {
  const auto found = std::find(hooks_.begin(), hooks_.end(), hook);
  if (found != hooks_.end()) *found = nullptr;
}

bool Progress::poll() {
  if (polling_) return false;
  polling_ = true;
  const bool looks = ++counters_.polls % kPollsPerLook == 0;  // of a rank that never waits long
  const std::uint64_t asked = looks ? question() : answered_;
  bool moved = false;
  for (std::size_t place = 0; place < hooks_.size(); ++place) {
    if (ProgressHook* const hook = hooks_[place]; hook != nullptr) moved |= hook->poll();
  }
  polling_ = false;
  if (moved) note_move();
  answer(asked);
  if (moved || wake_wanted_) wake();  // what they wait for may have come
  return moved;
}

void Progress::note_move() {
  if (board_ == nullptr) return;
  std::atomic<std::uint64_t>& moves = board_->line.moves;
  moves.store(moves.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

std::int64_t Progress::now_ns() const {
  return clock_.now_ns();
}

void Progress::wake() {
  wake_wanted_ = polling_;
  if (!polling_) wake_those_done();
}

void Progress::wake_peer(int endpoint) {
  node_.wake(endpoint);
}

bool Progress::sleeps_with_fence(int endpoint) const {
  return node_.sleeps_with_fence(endpoint);
}

bool Progress::poll_once() {
  if (poll()) {
    idle_polls_ = 0;
    return true;
  }
  if (++idle_polls_ > spin_count_) {
    look_at_board();
    idle_polls_ = 0;
    offer_processor();
  }
  return false;
}

// ----- several threads -------------------------------------------------------------------------------------

/// Wakes those whose wait is over. (Where no wait is known, as in a wait that a hook is amid of, nobody
/// sleeps.)
void Progress::wake_those_done() {
  for (Napping* one = napping_; one != nullptr; one = one->next) {
    if (one->place == Napping::Place::kAwake || !one->look()) continue;
    if (one->place == Napping::Place::kLink) {
      waiter_.ring();
    } else {
      one->place = Napping::Place::kAwake;
      one->bell.release();
    }
  }
}

/// poll(), and a note whether other threads poll, too.
bool Progress::poll_for(Napping& mine) {
  mine.others_poll = mine.others_poll || counters_.polls != mine.polls_seen;
  const bool moved = poll();
  mine.polls_seen = counters_.polls;
  return moved;
}

bool Progress::is_over_awake(Napping& mine, Patience& patience) {
  mine.polls_seen = counters_.polls;
  for (std::uint32_t moves = 1; !mine.look(); ++moves) {
    if (poll_for(mine)) {
      patience = Patience{};
      // Not at each one: most often it has ended the wait, and a turn that is given up costs more than it.
      if (moves % kMovesPerTurn == 0 && lock_.is_wanted()) give_way();
      continue;
    }
    if (patience.idle_polls % kPollsPerLookAtOthers == 0) wake_those_done();
    if (!pause(patience)) return false;
  }
  return true;
}

bool Progress::stays_awake(Napping&& mine, Patience& patience) {
  return is_over_awake(mine, patience);
}

void Progress::wait_among_threads(Napping&& mine, Patience& patience) {
  while (!is_over_awake(mine, patience)) {
    if (sleepers_ != 0 || mine.others_poll) {
      nap(mine);
    } else {
      sleep_for_all(mine);
    }
  }
}

void Progress::help_until(const bool& over) {
  helper_ = std::this_thread::get_id();
  const auto done = [&over] { return over; };
  Napping mine(&napping_, done);
  while (!mine.look()) {
    mine.polls_seen = counters_.polls;
    if (poll_for(mine)) {
      if (lock_.is_wanted()) give_way();
    } else if (sleepers_ != 0 || mine.others_poll) {
      nap(mine);
    } else {
      const std::uint64_t polls = counters_.polls;
      sleep_for_all(mine);
      mine.others_poll = counters_.polls > polls + 2;  // beyond its own: then those look for this one, too
    }
  }
  helper_ = {};
}

/// Sleeps until a thread that polls finds the wait over, or, where none may sleep in the link, a moment: then
/// somebody has to, unless others have polled meanwhile.
void Progress::nap(Napping& mine) {
  const bool is_one_in_link = sleepers_ != 0;
  look_again_ = false;
  if (mine.look()) return;
  // What peers have to know of this wait that one fences before it sleeps on.
  if (is_one_in_link && look_again_) waiter_.ring();
  mine.place = Napping::Place::kNap;
  const std::uint64_t polls = counters_.polls;
  const auto longest = std::chrono::nanoseconds(is_one_in_link ? kSleepNanosecondsMax : kNapNanosecondsAlone);
  ++counters_.sleeps;
  const bool rung = [&] {
    const Unlocked unlocked = let_go();
    return mine.bell.try_acquire_for(longest);
  }();
  if (!rung && mine.place == Napping::Place::kAwake) mine.bell.acquire();  // it was about to be
  mine.place = Napping::Place::kAwake;
  mine.others_poll = counters_.polls != polls;
}

/// Sleeps in the link, and wakes another thread to do so when this one's wait is over.
void Progress::sleep_for_all(Napping& mine) {
  const std::uint32_t ticket = arm();
  look_again_ = false;
  wake_those_done();
  if (mine.look() || look_again_) {
    disarm();
  } else {
    mine.place = Napping::Place::kLink;
    const bool woken = sleep(ticket);
    mine.place = Napping::Place::kAwake;
    if (!woken && (poll() || mine.look())) ++counters_.late_wakes;
    wake_those_done();
  }
  if (!mine.look() || sleepers_ != 0) return;
  for (Napping* one = napping_; one != nullptr; one = one->next) {
    if (one->place != Napping::Place::kNap) continue;
    one->place = Napping::Place::kAwake;
    one->bell.release();
    return;
  }
}

// ----- one thread ------------------------------------------------------------------------------------------

bool Progress::pause(Patience& patience) {
  ++patience.idle_polls;
  if (patience.idle_polls <= spin_count_) {
    relax_processor();
    if (patience.idle_polls % kPollsPerLook == 0) look_at_board();
    if (locking_ && patience.idle_polls % kPollsPerTurn == 0) give_others_turn();
    return true;
  }
  offer_processor();
  const std::int64_t now_ns = clock_.now_ns();
  note_wait(now_ns);
  if (home_ >= 0 && now_ns >= home_look_ns_ && !locking_) look_for_home(now_ns);
  if (patience.sleep_at_ns == 0)
    patience.sleep_at_ns = now_ns + (short_sleeps_ ? kShortSleepOfferNanoseconds : kOfferNanoseconds);
  return now_ns < patience.sleep_at_ns;
}

/// The last question, answered or not.
std::uint64_t Progress::question() const {
  return board_ != nullptr ? board_->asked.load(std::memory_order_acquire) : answered_;
}

/// What was sent to this rank before it was asked is no reason for it to wait: it polls before it answers.
void Progress::look_at_board() {
  const std::uint64_t asked = question();
  if (asked == answered_) [[likely]]
    return;
  poll();
  answer(asked);
}

/// A question is answered once, by the first thread that waits or looks.
void Progress::answer(std::uint64_t asked) {
  if (asked <= answered_) [[likely]]
    return;
  answered_ = asked;
  const bool waits = board_->line.word.load(std::memory_order_relaxed) == waits_in_;
  answerer_->answer(asked, waits ? waits_since_ns_ : clock_.now_ns());
}

/// Since when a call waits: a report counts many waits of one call as one.
void Progress::note_wait(std::int64_t now_ns) {
  if (board_ == nullptr) return;
  const std::uint64_t word = board_->line.word.load(std::memory_order_relaxed);
  if (word != waits_in_) {
    waits_in_ = word;
    waits_since_ns_ = now_ns;
  }
  look_at_board();
}

/// Ranks that wait for one another are evened out over the processors by the system slowly or not at all: it
/// takes those that ran a moment ago for worth their cache. Half of them on each of two processors are twice
/// as fast as all on one.
void Progress::look_for_home(std::int64_t now_ns) {
  if (sched_getcpu() == home_) {
    home_interval_ns_ /= 2;
  } else {
    home_interval_ns_ *= 2;
    if (!local::visit_processor(home_)) home_ = -1;  // the user has bound this rank elsewhere
  }
  home_interval_ns_ = std::clamp(home_interval_ns_, kHomeIntervalMinNanoseconds, kHomeIntervalMaxNanoseconds);
  home_look_ns_ = now_ns + home_interval_ns_;
}

void Progress::offer_processor() {
  ++counters_.yields;
  const Unlocked unlocked = let_go();
  waiter_.offer_processor();
}

/// Of a thread that spins. Where no other one of the rank is in MPI it spins on, as a rank of one thread
/// does: a system may have a process that offers its processor often wait for long behind one that computes.
void Progress::give_others_turn() {
  if (lock_.is_wanted()) return give_way();
  if (napping_ == nullptr || napping_->next == nullptr) return;
  const Unlocked unlocked = let_go();
  waiter_.offer_processor();
}

void Progress::give_way() {
  const Unlocked unlocked = let_go();
  lock_.wait_for_another();
}

std::uint32_t Progress::arm() {
  return waiter_.arm();
}

bool Progress::sleep(std::uint32_t ticket) {
  bool woken = true;
  if (!poll()) {
    if (events_.is_wanted(Event::kSleep)) events_.raise(Event::kSleep, {});
    const std::int64_t begin_ns = clock_.now_ns();
    ++counters_.sleeps;
    ++sleepers_;
    counters_.state = kAsleep;
    const std::int64_t longest_ns = short_sleeps_ ? kShortSleepNanoseconds : kSleepNanosecondsMax;
    {
      const Unlocked unlocked = let_go();
      woken = waiter_.sleep(ticket, longest_ns);
    }
    woken |= longest_ns == kShortSleepNanoseconds;
    look_at_board();
    if (--sleepers_ == 0) counters_.state = kAwake;
    const std::int64_t slept_ns = clock_.now_ns() - begin_ns;
    counters_.asleep_ns += static_cast<std::uint64_t>(slept_ns);
    if (events_.is_wanted(Event::kWake)) events_.raise(Event::kWake, {slept_ns});
  }
  disarm();
  return woken;
}

void Progress::disarm() {
  waiter_.disarm();
}

}  // namespace tasuki

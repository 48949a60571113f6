// Progress: the sweep over the hooks, and how a wait goes from spinning to sleeping.
#include "progress/progress.hpp"

#include <sched.h>

#include <algorithm>

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

}  // namespace

Progress::Progress(const Clock& clock, Waiter& waiter, Node& node, std::mutex& mutex, std::int64_t spin_count,
                   Counters& counters, const EventSwitch& events)
    : clock_(clock),
      waiter_(waiter),
      node_(node),
      mutex_(mutex),
      counters_(counters),
      events_(events),
      spin_count_(static_cast<std::uint32_t>(spin_count)) {}

void Progress::add(ProgressHook* hook) {
  hooks_.push_back(hook);
}

void Progress::remove(ProgressHook* hook) {
  const auto found = std::find(hooks_.begin(), hooks_.end(), hook);
  if (found == hooks_.end()) return;
  const auto index = static_cast<std::size_t>(found - hooks_.begin());
  hooks_.erase(found);
  if (index < next_hook_) --next_hook_;
}

bool Progress::poll() {
  if (polling_) return false;
  polling_ = true;
  if (++counters_.polls % kPollsPerLook == 0) look_at_board();  // of a rank that never waits long
  bool moved = false;
  for (next_hook_ = 0; next_hook_ < hooks_.size();) {
    ProgressHook* hook = hooks_[next_hook_++];
    moved |= hook->poll();
  }
  polling_ = false;
  if (moved) {
    note_move();
    wake();  // what they wait for may have come
  }
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
  if (sleepers_ != 0) waiter_.ring();
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

bool Progress::pause(Patience& patience) {
  ++patience.idle_polls;
  if (patience.idle_polls <= spin_count_) {
    relax_processor();
    if (patience.idle_polls % kPollsPerLook == 0) look_at_board();
    if (locking_ && patience.idle_polls % 16 == 0) {
      const LineValues mine = let_go();
      waiter_.offer_processor();
      take_back(mine);
    }
    return true;
  }
  offer_processor();
  const std::int64_t now_ns = clock_.now_ns();
  note_wait(now_ns);
  if (home_ >= 0 && now_ns >= home_look_ns_ && !locking_) look_for_home(now_ns);
  if (patience.sleep_at_ns == 0) patience.sleep_at_ns = now_ns + kOfferNanoseconds;
  return now_ns < patience.sleep_at_ns;
}

/// A question is answered once, by the first thread that waits or looks.
void Progress::look_at_board() {
  if (board_ == nullptr) return;
  const std::uint64_t asked = board_->asked.load(std::memory_order_acquire);
  if (asked == answered_) [[likely]]
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
  if (!locking_) {
    waiter_.offer_processor();
    return;
  }
  const LineValues mine = let_go();
  waiter_.offer_processor();
  take_back(mine);
}

LineValues Progress::let_go() {
  const LineValues mine = board_ != nullptr ? values_of(board_->line) : LineValues{};
  mutex_.unlock();
  return mine;
}

void Progress::take_back(const LineValues& mine) {
  mutex_.lock();
  if (board_ == nullptr || board_->line.word.load(std::memory_order_relaxed) == mine.word) return;
  put_back(mine, &board_->line);
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
    if (locking_) {
      const LineValues mine = let_go();
      woken = waiter_.sleep(ticket, kSleepNanosecondsMax);
      take_back(mine);
    } else {
      woken = waiter_.sleep(ticket, kSleepNanosecondsMax);
    }
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

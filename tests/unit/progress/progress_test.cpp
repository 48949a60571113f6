// The one way to wait: that an idle wait sleeps and then leaves the processors alone, that a wait goes on
// where its first part ended, and that a wake-up that got lost is counted.
#include "progress/progress.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/process.hpp"
#include "base/system/clock.hpp"
#include "link/link.hpp"
#include "node/node.hpp"
#include "progress/link_waiter.hpp"
#include "support/scripted_time.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

using test::run_ranks;
using test::WorldOptions;

WorldOptions crowded() {
  WorldOptions options;
  options.config.spin_count = 0;  // as with more ranks than processors
  return options;
}

TEST(Progress, IdleWaitLeavesTheProcessorsAlone) {
  run_ranks(
      1,
      [](Process& process) {
        const std::uint64_t before = process.counters.sleeps;
        std::uint64_t yields = 0;
        process.progress->wait_until([&] {
          if (process.counters.sleeps == before) yields = process.counters.yields;
          return process.counters.sleeps == before + 4;
        });
        EXPECT_GT(yields, 0U) << "it offers its processor before it sleeps";
        EXPECT_LE(process.counters.yields - yields, 4U) << "and hardly between the sleeps";
      },
      crowded());
}

/// On which each offer of the processor takes the same time: it is looked at before and after it.
class OfferClock final : public Clock {
 public:
  explicit OfferClock(std::int64_t offer_ns) : offer_ns_(offer_ns) {}
  std::int64_t now_ns() const override { return offer_ns_ * ++looks_; }
  int offers() const { return looks_ / 2; }

 private:
  const std::int64_t offer_ns_;
  mutable int looks_ = 0;
};

/// Of `polls`, after how many the processor was offered, where an offer takes `offer_ns`.
int offers_of(Process& process, int polls, std::int64_t offer_ns) {
  const OfferClock clock(offer_ns);
  LinkWaiter waiter(*process.link, &clock);
  for (int poll = 0; poll < polls; ++poll) waiter.offer_processor();
  return clock.offers();
}

TEST(Progress, OffersTheProcessorBetweenHostsAsOftenAsRanksTakeIt) {
  run_ranks(1, [](Process& process) {
    EXPECT_EQ(offers_of(process, 80, 200), 10) << "nobody takes it";
    EXPECT_EQ(offers_of(process, 80, 20'000), 80) << "ranks that wait take it";
    EXPECT_EQ(offers_of(process, 4'000, 4'000'000), 2) << "a process that computes takes it for long";
  });
}

TEST(Progress, GoesOnWhereTheFirstPartEnded) {
  run_ranks(
      1,
      [](Process& process) {
        Progress& progress = *process.progress;
        Progress::Patience patience;
        EXPECT_TRUE(progress.wait_awake([] { return true; }, patience));
        const std::uint64_t sleeps = process.counters.sleeps;
        EXPECT_FALSE(progress.wait_awake([] { return false; }, patience));
        EXPECT_EQ(process.counters.sleeps, sleeps);
        const std::uint64_t yields = process.counters.yields;
        progress.wait_until([&] { return process.counters.sleeps != sleeps; }, patience);
        EXPECT_LE(process.counters.yields - yields, 2U) << "it has been patient already";
      },
      crowded());
}

TEST(Progress, CountsWakesThatGotLost) {
  run_ranks(
      1,
      [](Process& process) {
        EXPECT_EQ(process.counters.late_wakes, 0U);
        const std::uint64_t sleeps = process.counters.sleeps;
        process.progress->wait_until([&] { return process.counters.sleeps == sleeps + 2; });
        EXPECT_EQ(process.counters.late_wakes, 1U)
            << "nobody rang, and it was done when the last sleep ended";
      },
      crowded());
}

/// A rank owns its waiter: this one hands everything on to one that the test has.
class Forwarding final : public Waiter {
 public:
  explicit Forwarding(Waiter& to) : to_(to) {}
  void offer_processor() override { to_.offer_processor(); }
  std::uint32_t arm() override { return to_.arm(); }
  bool sleep(std::uint32_t ticket, std::int64_t timeout_ns) override { return to_.sleep(ticket, timeout_ns); }
  void disarm() override { to_.disarm(); }
  void ring() override { to_.ring(); }

 private:
  Waiter& to_;
};

/// While this rank sleeps something comes for its hook, and then it is asked what it waits for.
class Asleep final : public Waiter, public ProgressHook, public Answerer {
 public:
  void watch(Process& process) {
    process_ = &process;
    process.progress->add(this);
    process.progress->set_board(process.board, *this);
  }
  void forget() { process_->progress->remove(this); }

  void offer_processor() override {}
  std::uint32_t arm() override { return 0; }
  bool sleep(std::uint32_t /*ticket*/, std::int64_t /*timeout_ns*/) override {
    if (process_ == nullptr) return true;
    has_come = true;
    ++process_->board.asked;
    return true;
  }
  void disarm() override {}
  void ring() override {}
  bool poll() override { return std::exchange(has_come, false); }
  void answer(std::uint64_t /*asked*/, std::int64_t /*since_ns*/) override {
    ++answers;
    too_early += has_come ? 1 : 0;
  }

  bool has_come = false;
  int answers = 0, too_early = 0;

 private:
  Process* process_ = nullptr;
};

TEST(Progress, LooksAtWhatHasComeBeforeItSaysThatItWaits) {
  WorldOptions options = crowded();
  Asleep asleep;
  options.make_waiter = [&](Link&) { return std::make_unique<Forwarding>(asleep); };
  run_ranks(
      1,
      [&](Process& process) {
        asleep.watch(process);
        process.progress->wait_until([&] { return asleep.answers == 3; });
        EXPECT_EQ(asleep.too_early, 0);
        asleep.forget();
      },
      options);
}

// In turn each of two ranks waits for a number that the other writes and then wakes it.
TEST(Progress, WakesInTime) {
  std::atomic<int> turn = 0;
  std::atomic<std::uint64_t> sleeps = 0;
  std::atomic<std::uint64_t> late_wakes = 0;
  run_ranks(
      2,
      [&](Process& process) {
        constexpr int kTurns = 100;
        for (int next = process.rank; next < kTurns; next += 2) {
          process.progress->wait_until([&] { return turn.load(std::memory_order_seq_cst) == next; });
          Progress::Patience patience;  // long enough for the other to fall asleep, now and then
          if (next % 4 == 0) process.progress->wait_awake([] { return false; }, patience);
          turn.store(next + 1, std::memory_order_seq_cst);
          process.progress->wake_peer(1 - process.rank);
        }
        sleeps += process.counters.sleeps;
        late_wakes += process.counters.late_wakes;
      },
      crowded());
  EXPECT_GT(sleeps.load(), 0U);
  // A rank that loses its processor for 50 ms between its turn and its ring wakes the other one late: seldom.
  EXPECT_LE(late_wakes.load(), 2U);
}

// ----- in another time than the real one -------------------------------------------------------------------

constexpr std::int64_t kHourNs = 3'600'000'000'000;

class LoneNode final : public Node {
 public:
  LoneNode() : Node({0}, 0) {}
  int processors_available() const override { return 1; }
};

TEST(Progress, AWaitOfHoursEndsByAScriptedClock) {
  test::ScriptedTime time;
  LoneNode node;
  ProcessLock lock;
  Counters counters;
  const EventSwitch events;
  Progress progress(time, time, node, lock, 0, counters, events);
  const auto begin = std::chrono::steady_clock::now();
  progress.wait_until([&] { return progress.now_ns() >= kHourNs; });
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took, std::chrono::seconds(30)) << "real time has passed";
  EXPECT_GE(time.now_ns(), kHourNs);
  EXPECT_LE(time.now_ns(), kHourNs + 50'000'000) << "a sleep is no longer than 50 ms";
  EXPECT_EQ(counters.sleeps, static_cast<std::uint64_t>(time.sleeps));
  EXPECT_GE(counters.asleep_ns, static_cast<std::uint64_t>(kHourNs - 1'000'000'000));
}

TEST(Progress, OffersItsProcessorForAWhileByTheScriptedClockBeforeItSleeps) {
  test::ScriptedTime time;
  LoneNode node;
  ProcessLock lock;
  Counters counters;
  const EventSwitch events;
  Progress progress(time, time, node, lock, 0, counters, events);
  progress.wait_until([&] { return time.sleeps == 1; });
  EXPECT_EQ(counters.yields, 201U) << "200 us, of 1 us for each offer";
}

/// Lets go of the lock in its first poll until it has been polled a second time, by another thread.
class HookThatReleases final : public ProgressHook {
 public:
  explicit HookThatReleases(Progress& progress) : progress_(progress) {}
  bool poll() override {
    if (polls_++ != 0) return false;
    const Progress::Release released(progress_);
    EXPECT_FALSE(progress_.is_polling());
    first_is_out = true;
    while (!second_is_over) std::this_thread::yield();
    return true;
  }

  std::atomic<bool> first_is_out = false;
  std::atomic<bool> second_is_over = false;

 private:
  Progress& progress_;
  int polls_ = 0;
};

// A hook that has let go of the lock keeps nobody from making progress, and finds the lock and the line as
// they were.
TEST(Progress, AnotherThreadPollsWhileAHookHasLetGoOfTheLock) {
  WorldOptions options;
  options.thread_level = ThreadLevel::kMultiple;
  run_ranks(
      1,
      [](Process& process) {
        Progress& progress = *process.progress;
        HookThatReleases hook(progress);
        process.lock.lock();
        progress.add(&hook);
        process.lock.unlock();
        std::thread first([&] {
          const std::lock_guard inside(process.lock);
          process.line.tag.store(4711, std::memory_order_relaxed);
          EXPECT_TRUE(progress.poll());
          EXPECT_EQ(process.line.tag.load(std::memory_order_relaxed), 4711)
              << "the line is this call's again";
          EXPECT_FALSE(progress.is_polling());
        });
        while (!hook.first_is_out) std::this_thread::yield();
        {
          const std::lock_guard inside(process.lock);
          const std::uint64_t polls = process.counters.polls;
          process.line.word.store(next_call(process.line.word.load(), Function::kSend));
          process.line.tag.store(1, std::memory_order_relaxed);
          progress.poll();
          EXPECT_EQ(process.counters.polls, polls + 1) << "a sweep of its own";
          hook.second_is_over = true;
        }
        first.join();
        const std::lock_guard inside(process.lock);
        progress.remove(&hook);
      },
      options);
}

TEST(Progress, WithoutThreadsNothingIsReleased) {
  run_ranks(1, [](Process& process) {
    process.lock.lock();
    std::atomic<bool> came_in = false;
    std::thread other;
    {
      const Progress::Release released(*process.progress);
      other = std::thread([&] {
        const std::lock_guard inside(process.lock);
        came_in = true;
      });
      while (!process.lock.is_wanted() && !came_in) std::this_thread::yield();
      EXPECT_FALSE(came_in) << "it was left as it was";
    }
    process.lock.unlock();
    other.join();
  });
}

// A thread that waits alone spins as a rank of one thread does, though calls hold the lock.
TEST(Progress, AThreadThatWaitsAloneKeepsItsProcessorWhileItSpins) {
  constexpr std::uint64_t kSpins = 1000;
  test::ScriptedTime time;
  LoneNode node;
  ProcessLock lock;
  Counters counters;
  const EventSwitch events;
  Progress progress(time, time, node, lock, kSpins, counters, events);
  progress.set_locking(true);
  const std::lock_guard inside(lock);
  const std::int64_t begin_ns = time.now_ns();
  progress.wait_until([&] { return counters.polls == kSpins; });
  EXPECT_EQ(time.now_ns(), begin_ns) << "it has offered its processor";
  EXPECT_EQ(counters.yields, 0U);
}

TEST(ProcessLock, KnowsWhetherItIsWantedAndLetsOthersHaveATurn) {
  ProcessLock lock;
  lock.lock();
  EXPECT_FALSE(lock.is_wanted());
  std::atomic<bool> had_a_turn = false;
  std::thread other([&] {
    const std::lock_guard inside(lock);
    had_a_turn = true;
  });
  while (!lock.is_wanted()) std::this_thread::yield();
  lock.unlock();
  other.join();
  EXPECT_TRUE(had_a_turn);
  lock.wait_for_another();  // returns: nobody waits
}

// Of several threads one at a time is inside, whether one is favoured or not.
TEST(ProcessLock, IsHeldByOneThreadThoughOneIsFavouredMeanwhile) {
  constexpr int kThreads = 3;
  constexpr int kPhases = 5;
  ProcessLock lock;
  lock.may_favour();
  for (std::uint32_t turn = 0; turn <= ProcessLock::kTurnsToFavourMin + 1; ++turn) {
    const std::lock_guard inside(lock);
  }
  std::uint64_t sum = 0, expected = 0;
  std::vector<std::thread> threads;
  for (int self = 0; self < kThreads; ++self) {
    const std::uint64_t turns = self == 0 ? 4'000 : 50;  // the first one is alone for long
    expected += turns * kPhases;
    threads.emplace_back([&lock, &sum, turns] {
      for (int phase = 0; phase < kPhases; ++phase) {
        for (std::uint64_t turn = 0; turn < turns; ++turn) {
          const std::lock_guard inside(lock);
          ++sum;
        }
        std::this_thread::yield();
      }
    });
  }
  for (std::thread& one : threads) one.join();
  EXPECT_EQ(sum, expected);
  const std::lock_guard inside(lock);
  EXPECT_FALSE(lock.is_favouring()) << "another thread has come";
}

// Lines of the cache and the system's help cost more than a hundred short calls.
TEST(ProcessLock, StaysWithAThreadThatCallsAgainAndAgainForManyCalls) {
  constexpr int kThreads = 3;
  constexpr long kCallsOfEach = 40'000;
  ProcessLock lock;
  long calls = 0, changes = 0;
  int last = -1;
  std::vector<std::thread> threads;
  for (int self = 0; self < kThreads; ++self) {
    threads.emplace_back([&, self] {
      for (long call = 0; call < kCallsOfEach; ++call) {
        const std::lock_guard inside(lock);
        ++calls;
        changes += last != self;
        last = self;
      }
    });
  }
  for (std::thread& one : threads) one.join();
  EXPECT_EQ(calls, kThreads * kCallsOfEach);
#ifdef __SANITIZE_THREAD__
  constexpr long kCallsOfATurnMin = 10;  // a turn is a time, in which there are some 70 calls here
#else
  constexpr long kCallsOfATurnMin = 100;
#endif
  EXPECT_LT(changes * kCallsOfATurnMin, calls);
  EXPECT_FALSE(lock.is_wanted());
}

TEST(ProcessLock, FavoursAThreadThatIsAloneUntilAnotherOneComes) {
  ProcessLock lock;
  const auto take_turns = [&lock](std::uint32_t turns) {
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
      const std::lock_guard inside(lock);
    }
  };
  take_turns(10 * ProcessLock::kTurnsToFavourMin);
  EXPECT_FALSE(lock.is_favouring()) << "it may not";
  const bool may = lock.may_favour();
  take_turns(ProcessLock::kTurnsToFavourMin);
  EXPECT_FALSE(lock.is_favouring()) << "not yet";
  take_turns(10);
  EXPECT_EQ(lock.is_favouring(), may);
  // The favoured thread is inside, and the other one waits for it as for any.
  std::atomic<bool> had_a_turn = false;
  lock.lock();
  std::thread other([&] {
    const std::lock_guard inside(lock);
    had_a_turn = true;
  });
  while (!lock.is_wanted()) std::this_thread::yield();
  EXPECT_FALSE(lock.is_favouring());
  EXPECT_FALSE(had_a_turn);
  lock.unlock();
  lock.wait_for_another();
  other.join();
  EXPECT_TRUE(had_a_turn);
  take_turns(2 * ProcessLock::kTurnsToFavourMin);
  EXPECT_FALSE(lock.is_favouring()) << "it takes longer than the first time";
  take_turns(4 * ProcessLock::kTurnsToFavourMin);
  EXPECT_EQ(lock.is_favouring(), may);
}

// A whole rank lives in that time: what it waits for is never sent.
TEST(Progress, ARankLivesInAScriptedTime) {
  test::ScriptedTime time;
  /// Hands the calls on: a rank owns its Waiter.
  WorldOptions options = crowded();
  options.clock = &time;
  options.make_waiter = [&](Link&) { return std::make_unique<Forwarding>(time); };
  run_ranks(
      1,
      [&](Process& process) {
        Progress& progress = *process.progress;
        const std::int64_t end_ns = progress.now_ns() + kHourNs;
        progress.wait_until([&] { return progress.now_ns() >= end_ns; });
        EXPECT_GE(process.counters.sleeps, 70'000U);
      },
      options);
}

}  // namespace
}  // namespace tasuki

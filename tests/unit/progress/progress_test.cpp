// The one way to wait: that an idle wait sleeps and then leaves the processors alone, that a wait goes on
// where its first part ended, and that a wake-up that got lost is counted.
#include "progress/progress.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "base/process.hpp"
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

TEST(Progress, GoesOnWhereTheFirstPartEnded) {
  run_ranks(
      1,
      [](Process& process) {
        Progress& progress = *process.progress;
        Progress::Waiter waiter;
        EXPECT_TRUE(progress.wait_awake([] { return true; }, waiter));
        const std::uint64_t sleeps = process.counters.sleeps;
        EXPECT_FALSE(progress.wait_awake([] { return false; }, waiter));
        EXPECT_EQ(process.counters.sleeps, sleeps);
        const std::uint64_t yields = process.counters.yields;
        progress.wait_until([&] { return process.counters.sleeps != sleeps; }, waiter);
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
          Progress::Waiter waiter;  // long enough for the other to fall asleep, now and then
          if (next % 4 == 0) process.progress->wait_awake([] { return false; }, waiter);
          turn.store(next + 1, std::memory_order_seq_cst);
          process.progress->wake_peer(1 - process.rank);
        }
        sleeps += process.counters.sleeps;
        late_wakes += process.counters.late_wakes;
      },
      crowded());
  EXPECT_GT(sleeps.load(), 0U);
  EXPECT_EQ(late_wakes.load(), 0U);
}

}  // namespace
}  // namespace tasuki

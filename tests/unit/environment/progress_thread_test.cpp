// Which processors are left for a thread that makes progress, and that such a thread ends.
#include "environment/progress_thread.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "p2p/ranks.hpp"

namespace tasuki {
namespace {

TEST(ProgressThread, RunsOnProcessorsThatNoRankIsBoundTo) {
  EXPECT_EQ(processors_left({0, 1, 2, 3}, {{0}, {2}}), (Processors{1, 3}));
  EXPECT_EQ(processors_left({0, 1}, {{0, 1}}), Processors{}) << "ranks that are bound to none take all";
  EXPECT_EQ(processors_left({4, 5}, {}), (Processors{4, 5}));
}

TEST(ProgressThread, ReceivesWhileItsRankDoesNothing) {
  test::WorldOptions options;
  options.thread_level = ThreadLevel::kMultiple;
  test::run_ranks(
      2,
      [](Process& process) {
        process.lock.lock();
        test::Rank rank(process);
        test::Bytes data(5000);
        Request* request = rank.rank == 0 ? rank.issend(data, 1, 0) : rank.irecv(data, 0, 0);
        process.lock.unlock();
        {
          ProgressThread thread(process, [] {});
          for (bool done = false; !done; std::this_thread::yield()) {
            const std::lock_guard inside(process.lock);  // without a poll
            done = request->done;
          }
        }
        const std::lock_guard inside(process.lock);
        EXPECT_EQ(rank.wait(request), 0);
      },
      options);
}

}  // namespace
}  // namespace tasuki

// Ranks that were found to have ended: whose end ends the job.
#include "launch/ending/ended_ranks.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <vector>

#include "made_world.hpp"

namespace tasuki::launch {
namespace {

using local::Life;

int exited(int status) {
  return status << 8;
}

class EndedRanks : public testing::Test {
 protected:
  Worlds worlds_;
  World& world_ = worlds_.add(made_world(4));
  WorldRank rank(int number) { return {&world_, number}; }
  Judgement judge_all(const std::vector<int>& numbers) {
    std::vector<WorldRank> ended;
    for (const int number : numbers) ended.push_back(rank(number));
    return judge_ended(worlds_, ended);
  }
};

TEST_F(EndedRanks, OneThatNeverUsedMpiMayEnd) {
  set_ended(rank(2), Life::kStarted, exited(0));
  const Judgement judgement = judge_all({2});
  EXPECT_FALSE(judgement.cause);
  EXPECT_EQ(judgement.status, 0);
  EXPECT_EQ(world_.segment.header().absent_rank.load(), 3);  // ranks that come later do not wait for it
}

TEST_F(EndedRanks, OneThatOthersWaitForMayNot) {
  rank(0).block().in_world.store(1);
  set_ended(rank(2), Life::kStarted, exited(0));
  const Judgement judgement = judge_all({2});
  ASSERT_TRUE(judgement.cause);
  EXPECT_EQ(judgement.cause->number, 2);
}

TEST_F(EndedRanks, AStatusAfterFinalizeCountsButEndsNothing) {
  set_ended(rank(1), Life::kFinalized, exited(0));
  set_ended(rank(2), Life::kFinalized, exited(7));
  set_ended(rank(3), Life::kFinalized, exited(9));
  const Judgement judgement = judge_all({1, 2, 3});
  EXPECT_FALSE(judgement.cause);
  EXPECT_EQ(judgement.status, 7);
}

TEST_F(EndedRanks, TheFirstOfThoseThatFailedIsTheCause) {
  set_ended(rank(1), Life::kInitialized, exited(3));
  set_ended(rank(2), Life::kInitialized, exited(4));
  EXPECT_EQ(judge_all({1, 2}).cause->number, 1);
}

TEST_F(EndedRanks, ASignalComesBeforeAnExit) {
  set_ended(rank(1), Life::kInitialized, exited(3));
  set_ended(rank(2), Life::kInitialized, SIGSEGV);
  EXPECT_EQ(judge_all({1, 2}).cause->number, 2);
}

TEST_F(EndedRanks, AnAbortComesBeforeAll) {
  set_ended(rank(1), Life::kInitialized, SIGSEGV);
  rank(3).block().claimed_pid.store(4711);
  rank(3).block().life.store(Life::kAborting);
  rank(3).block().abort_code.store(5);
  std::strcpy(rank(3).block().abort_message, "no more");
  world_.segment.header().first_abort.store(4);
  const Judgement judgement = judge_all({1});
  ASSERT_TRUE(judgement.cause);
  EXPECT_EQ(judgement.cause->number, 3);
  const RankEnd end = end_of(*judgement.cause);
  EXPECT_EQ(end.pid, 4711);
  EXPECT_EQ(end.abort_code, 5);
  EXPECT_EQ(end.abort_message, "no more");
}

TEST_F(EndedRanks, ANumberThatIsNoRankIsNoAbort) {
  world_.segment.header().first_abort.store(99);  // the ranks can write there
  set_ended(rank(1), Life::kFinalized, exited(0));
  EXPECT_FALSE(judge_all({1}).cause);
}

}  // namespace
}  // namespace tasuki::launch

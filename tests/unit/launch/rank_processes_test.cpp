// The processes of a job: found when they end, signalled in groups, reaped when all are over.
#include "launch/host/rank_processes.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "made_world.hpp"

namespace tasuki::launch {
namespace {

class RankProcessesTest : public testing::Test {
 protected:
  ~RankProcessesTest() override {
    processes_.signal(SIGKILL, false);
    processes_.reap();
  }
  std::vector<WorldRank> wait_for_ended() {
    std::vector<WorldRank> ended;
    for (int turn = 0; ended.empty() && turn < 5000; ++turn) {
      ended = processes_.take_ended();
      if (ended.empty()) usleep(1000);
    }
    return ended;
  }
  Worlds worlds_;
  RankProcesses processes_{worlds_};
};

TEST_F(RankProcessesTest, AnEndIsTakenOnceAndStaysUnreaped) {
  World& world = worlds_.add(made_world(2));
  processes_.started({&world, 0}, waiting_group());
  const int pid = group_that([](int) { _exit(3); });
  processes_.started({&world, 1}, pid);
  EXPECT_EQ(world.segment.rank(1).started_pid.load(), pid);
  const std::vector<WorldRank> ended = wait_for_ended();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].number, 1);
  EXPECT_EQ(WEXITSTATUS(ended[0].rank().wait_status), 3);
  EXPECT_EQ(kill(pid, 0), 0);  // its number is still taken
  EXPECT_TRUE(processes_.take_ended().empty());
  EXPECT_EQ(worlds_.running(), 1);
}

TEST_F(RankProcessesTest, ASignalReachesWhatARankStarted) {
  processes_.begin();  // what loses its parent becomes our child, and is reaped
  World& world = worlds_.add(made_world(1));
  const int pid = group_that([](int ready) {
    if (fork() == 0) {
      close(ready);
      for (;;) pause();
    }
  });
  processes_.started({&world, 0}, pid);
  ASSERT_EQ(wait_for_ended().size(), 1u);
  processes_.reap();
  EXPECT_TRUE(processes_.any_left());
  processes_.signal(SIGKILL, false);
  for (int turn = 0; processes_.any_left() && turn < 5000; ++turn) usleep(1000);
  EXPECT_FALSE(processes_.any_left());
  EXPECT_EQ(world.ranks[0].pid, -1);  // the group is empty: its number may become another's
}

TEST_F(RankProcessesTest, AWorldCanBeEndedAlone) {
  World& world = worlds_.add(made_world(1));
  World& spawned = worlds_.add(made_world(2, 1));
  const int stays = waiting_group();
  const int goes = waiting_group();
  processes_.started({&world, 0}, stays);
  processes_.started({&spawned, 1}, goes);
  processes_.end_world(spawned, SIGTERM);
  EXPECT_TRUE(kill(goes, 0) != 0 && errno == ESRCH);
  EXPECT_EQ(kill(stays, 0), 0);
  worlds_.remove(spawned);
}

}  // namespace
}  // namespace tasuki::launch

// How a job ends: one message, one status, and nothing left.
#include "launch/ending/ending.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/system/clock.hpp"
#include "made_world.hpp"

namespace tasuki::launch {
namespace {

using Phase = Ending::Phase;

class EndingTest : public testing::Test {
 protected:
  ~EndingTest() override {
    processes_.signal(SIGKILL, false);
    processes_.reap();
  }
  /// Ranks that wait to be ended.
  void start(int ranks) {
    world_ = &worlds_.add(made_world(ranks));
    for (int rank = 0; rank < ranks; ++rank) processes_.started({world_, rank}, waiting_group());
  }
  /// Lets time pass as Job does, to the end. Returns false where it does not come.
  bool runs_out(Ending& ending) {
    for (int turn = 0; turn < 10'000; ++turn) {
      if (ending.over(false)) return true;
      ending.look_for_ended();
      ending.meet_deadline(clock_ns());
      usleep(1000);
    }
    return false;
  }
  static int lines_of(const std::string& text) {
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }

  EventLoop loop_;
  Printed printed_{loop_};
  Worlds worlds_;
  RankProcesses processes_{worlds_};
  World* world_ = nullptr;
};

TEST_F(EndingTest, ASignalIsSaidOnceAndEndsTheRanks) {
  start(2);
  Ending ending(worlds_, processes_, printed_.console, 0);
  EXPECT_EQ(ending.due_ns(1), 0);
  ending.end_for_signal(SIGINT);
  EXPECT_EQ(ending.phase(), Phase::kInterrupting);
  EXPECT_TRUE(ending.hurried());
  EXPECT_TRUE(runs_out(ending));
  EXPECT_EQ(ending.status(), 128 + SIGINT);
  EXPECT_EQ(printed_.error(), "mpiexec: got signal 2 (Interrupt); ending 2 ranks\n");
}

TEST_F(EndingTest, ASecondSignalKills) {
  world_ = &worlds_.add(made_world(1));
  const int pid = group_that([](int ready) {
    signal(SIGTERM, SIG_IGN);
    close(ready);
    for (;;) pause();
  });
  processes_.started({world_, 0}, pid);
  Ending ending(worlds_, processes_, printed_.console, 0);
  ending.end_for_signal(SIGTERM);
  ending.end_for_signal(SIGTERM);
  EXPECT_EQ(ending.phase(), Phase::kKilling);
  EXPECT_TRUE(runs_out(ending));
  EXPECT_EQ(world_->ranks[0].wait_status, SIGKILL);
  EXPECT_EQ(lines_of(printed_.error()), 1);
}

TEST_F(EndingTest, AnInterruptHasAGraceThatAnotherOneEnds) {
  const auto ignore = [](int ready) {
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    close(ready);
    for (;;) pause();
  };
  world_ = &worlds_.add(made_world(1));
  processes_.started({world_, 0}, group_that(ignore));
  Ending patient(worlds_, processes_, printed_.console, 0);
  patient.end_for_signal(SIGINT);
  const std::int64_t due_ns = patient.due_ns(clock_ns());
  patient.meet_deadline(due_ns - 1);
  EXPECT_EQ(patient.phase(), Phase::kInterrupting);
  patient.meet_deadline(due_ns);
  EXPECT_EQ(patient.phase(), Phase::kEnding);
  Ending hurried(worlds_, processes_, printed_.console, 0);
  hurried.end_for_signal(SIGINT);
  hurried.end_for_signal(SIGINT);
  EXPECT_EQ(hurried.phase(), Phase::kEnding);
  hurried.end_for_signal(SIGINT);
  EXPECT_EQ(hurried.phase(), Phase::kKilling);
  EXPECT_TRUE(runs_out(hurried));
  EXPECT_EQ(hurried.status(), 128 + SIGINT);
}

TEST_F(EndingTest, AStrangersFailureEndsItsOwnWorldAlone) {
  start(1);
  World& stranger = worlds_.add(made_world(2, 1));
  for (int rank = 0; rank < 2; ++rank) processes_.started({&stranger, rank}, waiting_group());
  Ending ending(worlds_, processes_, printed_.console, 0);
  kill(stranger.ranks[1].pid, SIGABRT);
  std::optional<WorldRank> failed;
  for (int turn = 0; !failed && turn < 5000; ++turn) {
    failed = ending.look_for_ended();
    usleep(1000);
  }
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->world, &stranger);
  EXPECT_TRUE(ending.job_runs());
  ending.say_failure("in MPI_Recv", "ring.c:42");
  ending.end_failed();
  EXPECT_GT(ending.due_ns(clock_ns()), 0);
  for (int turn = 0; stranger.running() > 0 && turn < 5000; ++turn) {
    EXPECT_FALSE(ending.look_for_ended());
    ending.meet_deadline(clock_ns());
    usleep(1000);
  }
  EXPECT_EQ(stranger.running(), 0);
  EXPECT_TRUE(ending.job_runs());
  EXPECT_FALSE(ending.over(false));
  EXPECT_EQ(kill(world_->ranks[0].pid, 0), 0);
  EXPECT_EQ(world_->running(), 1);
  EXPECT_EQ(ending.status(), 128 + SIGABRT);
  EXPECT_NE(printed_.error().find("rank 1 of spawn 1"), std::string::npos);
  EXPECT_NE(printed_.error().find("ending the other rank\n"), std::string::npos);
  ending.end_with(0, "over");
  EXPECT_TRUE(runs_out(ending));
}

TEST_F(EndingTest, ARankThatIgnoresTheEndIsKilledAfterAGrace) {
  world_ = &worlds_.add(made_world(1));
  processes_.started({world_, 0}, group_that([](int ready) {
                       signal(SIGTERM, SIG_IGN);
                       close(ready);
                       for (;;) pause();
                     }));
  Ending ending(worlds_, processes_, printed_.console, 0);
  ending.end_with(9, "mpiexec: for a test");
  const std::int64_t due_ns = ending.due_ns(clock_ns());
  EXPECT_GT(due_ns, 0);
  ending.meet_deadline(due_ns - 1);
  EXPECT_EQ(ending.phase(), Phase::kEnding);
  ending.meet_deadline(due_ns);
  EXPECT_EQ(ending.phase(), Phase::kKilling);
  EXPECT_TRUE(runs_out(ending));
  EXPECT_EQ(ending.status(), 9);
}

TEST_F(EndingTest, AFailureWaitsForTheDoctorAndIsSaidOnce) {
  start(2);
  Ending ending(worlds_, processes_, printed_.console, 0);
  EXPECT_FALSE(ending.look_for_ended());
  kill(world_->ranks[1].pid, SIGABRT);
  std::optional<WorldRank> failed;
  for (int turn = 0; !failed && turn < 5000; ++turn) {
    failed = ending.look_for_ended();
    usleep(1000);
  }
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->number, 1);
  EXPECT_EQ(ending.phase(), Phase::kExamining);
  EXPECT_EQ(printed_.error(), "");
  EXPECT_FALSE(ending.over(false));
  ending.say_failure("in MPI_Recv", "ring.c:42");
  ending.end_failed();
  EXPECT_TRUE(runs_out(ending));
  EXPECT_EQ(ending.status(), 128 + SIGABRT);
  EXPECT_EQ(lines_of(printed_.error()), 1);
  EXPECT_NE(printed_.error().find("rank 1"), std::string::npos);
  EXPECT_NE(printed_.error().find("Aborted"), std::string::npos);
}

TEST_F(EndingTest, AFailureIsSaidEvenIfNobodyWaitsForTheDoctor) {
  start(2);
  Ending ending(worlds_, processes_, printed_.console, 0);
  kill(world_->ranks[0].pid, SIGABRT);
  for (int turn = 0; ending.job_runs() && turn < 5000; ++turn) {
    ending.look_for_ended();
    usleep(1000);
  }
  ending.end_for_signal(SIGINT);
  EXPECT_EQ(ending.phase(), Phase::kKilling);
  EXPECT_TRUE(runs_out(ending));
  EXPECT_EQ(ending.status(), 128 + SIGABRT);
  EXPECT_EQ(lines_of(printed_.error()), 1);
}

TEST_F(EndingTest, TheTimeLimitIsTakenOnce) {
  start(1);
  Ending ending(worlds_, processes_, printed_.console, 2.5);
  EXPECT_FALSE(ending.take_time_limit(clock_ns() + 10'000'000'000));  // it has not begun
  ending.begin_time_limit();
  const std::int64_t due_ns = ending.due_ns(clock_ns());
  EXPECT_FALSE(ending.take_time_limit(due_ns - 1));
  EXPECT_TRUE(ending.take_time_limit(due_ns));
  EXPECT_FALSE(ending.take_time_limit(due_ns));
  EXPECT_EQ(ending.phase(), Phase::kExamining);
  ending.end_at_time_limit(false);
  EXPECT_TRUE(runs_out(ending));
  EXPECT_EQ(ending.status(), 124);
  EXPECT_EQ(printed_.error(), "mpiexec: the time limit of 2.5 s is over; ending 1 rank that still runs\n");
}

TEST_F(EndingTest, WhatARankLeftBehindIsEnded) {
  processes_.begin();
  world_ = &worlds_.add(made_world(1));
  processes_.started({world_, 0}, group_that([](int ready) {
                       if (fork() == 0) {
                         close(ready);
                         for (;;) pause();
                       }
                     }));
  Ending ending(worlds_, processes_, printed_.console, 0);
  EXPECT_TRUE(runs_out(ending));
  EXPECT_EQ(ending.status(), 0);
  EXPECT_EQ(printed_.error(), "");
  EXPECT_EQ(world_->ranks[0].pid, -1);
}

TEST_F(EndingTest, AJobThatMayGrowIsNotOver) {
  world_ = &worlds_.add(made_world(1));
  Ending ending(worlds_, processes_, printed_.console, 0);
  EXPECT_FALSE(ending.over(true));
  EXPECT_TRUE(ending.over(false));
}

}  // namespace
}  // namespace tasuki::launch

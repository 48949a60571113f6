// One examination from question to diagnosis, of ranks that are this process and boards that it fills in.
#include "launch/doctor/examination.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "base/system/clock.hpp"

namespace tasuki::launch {
namespace {

constexpr std::uint64_t kWord = 3 << 16 | kInside | 1;

/// Ranks of one world; those that answer() do so from a thread of their own.
class Ranks {
 public:
  explicit Ranks(std::size_t count) : boards_(count), blocks_(count) {
    for (std::size_t rank = 0; rank < count; ++rank) {
      boards_[rank] = std::make_unique<CallBoard>();
      blocks_[rank] = std::make_unique<local::RankBlock>();
      blocks_[rank]->started_pid.store(getpid());
      blocks_[rank]->claimed_pid.store(getpid());
      blocks_[rank]->life.store(local::Life::kInitialized);
    }
  }
  ~Ranks() {
    end_.store(true);
    for (std::thread& thread : threads_) thread.join();
  }
  CallBoard& board(std::size_t rank) { return *boards_[rank]; }
  local::RankBlock& block(std::size_t rank) { return *blocks_[rank]; }
  void answer(std::size_t rank) {
    board(rank).line.word.store(kWord);
    threads_.emplace_back([this, rank] {
      RankReport report{};
      report.word = kWord;
      report.comm_index = -1;
      report.peer = kNobody;
      report.root = kNobody;
      while (!end_.load()) {
        const std::uint64_t asked = board(rank).asked.load();
        if (asked != report.answers) {
          report.answers = asked;
          publish_report(report, &board(rank));
        }
        std::this_thread::yield();
      }
    });
  }
  std::vector<SubjectWorld> subjects() {
    std::vector<SubjectWorld> worlds(1);
    for (std::size_t rank = 0; rank < boards_.size(); ++rank) {
      worlds[0].ranks.push_back({.board = boards_[rank].get(), .block = blocks_[rank].get()});
    }
    return worlds;
  }

 private:
  std::vector<std::unique_ptr<CallBoard>> boards_;
  std::vector<std::unique_ptr<local::RankBlock>> blocks_;
  std::vector<std::thread> threads_;
  std::atomic<bool> end_{false};
};

Examination::Terms terms() {
  Examination::Terms terms;
  terms.patience = {.outside_ns = 20'000'000, .inside_ns = 10'000'000'000};
  return terms;
}

void finish(EventLoop& loop, Examination* examination) {
  while (!examination->step()) loop.run_once(1);
}

TEST(Examination, ThoseWhoAnswerAndThoseWhoDoNot) {
  Ranks ranks(3);
  ranks.answer(0);
  ranks.answer(2);
  EventLoop loop;
  Examination examination(loop, ranks.subjects(), terms());
  finish(loop, &examination);
  const std::vector<doctor::RankState>& states = examination.snapshot().worlds.at(0).ranks;
  EXPECT_TRUE(states[0].report.has_value());
  EXPECT_FALSE(states[1].report.has_value());
  EXPECT_TRUE(states[2].report.has_value());
  EXPECT_EQ(states[0].line.word, kWord);
  EXPECT_EQ(states[1].life, doctor::Life::kRunning);
  EXPECT_EQ(ranks.board(1).asked.load(), 2u) << "each rank is asked twice";
  EXPECT_TRUE(examination.all_wait()) << "one is outside of MPI, the others have said what they wait for";
  EXPECT_FALSE(examination.looked_up());
}

TEST(Examination, OneThatIsAtWorkInACallDoesNotWait) {
  Ranks ranks(2);
  ranks.answer(0);
  ranks.board(1).line.word.store(kWord);
  EventLoop loop;
  Examination::Terms short_terms = terms();
  short_terms.patience.inside_ns = 20'000'000;
  Examination examination(loop, ranks.subjects(), short_terms);
  finish(loop, &examination);
  EXPECT_FALSE(examination.all_wait());
}

TEST(Examination, HowFarEachHasCome) {
  Ranks ranks(5);
  ranks.block(0).life.store(local::Life::kStarted);
  ranks.block(0).claimed_pid.store(0);
  ranks.block(1).life.store(local::Life::kJoined);
  ranks.block(2).life.store(local::Life::kFinalized);
  ranks.block(3).life.store(local::Life::kInitialized);
  ranks.block(4).life.store(static_cast<local::Life>(99));  // a rank gone wild may write anything
  std::vector<SubjectWorld> subjects = ranks.subjects();
  subjects[0].ranks[3].ended = true;
  subjects[0].ranks[3].wait_status = SIGSEGV;
  EventLoop loop;
  Examination examination(loop, subjects, terms());
  finish(loop, &examination);
  const std::vector<doctor::RankState>& states = examination.snapshot().worlds.at(0).ranks;
  EXPECT_EQ(states[0].life, doctor::Life::kStarted);
  EXPECT_EQ(states[1].life, doctor::Life::kJoining);
  EXPECT_EQ(states[2].life, doctor::Life::kFinalized);
  EXPECT_EQ(states[3].life, doctor::Life::kEnded);
  EXPECT_EQ(states[3].wait_status, SIGSEGV);
  EXPECT_TRUE(states[3].ended_in_mpi);
  EXPECT_EQ(states[4].life, doctor::Life::kRunning);
  EXPECT_EQ(ranks.board(2).asked.load(), 0u) << "a rank that has finalised MPI cannot answer";
  EXPECT_EQ(ranks.board(3).asked.load(), 0u);
}

TEST(Examination, WhatTheKernelKnows) {
  const pid_t stopped = fork();
  if (stopped == 0) {
    for (;;) pause();
  }
  const pid_t ended = fork();
  if (ended == 0) _exit(7);
  ASSERT_TRUE(stopped > 0 && ended > 0);
  kill(stopped, SIGSTOP);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(stopped), &info, WSTOPPED | WNOWAIT), 0);
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(ended), &info, WEXITED | WNOWAIT), 0);
  Ranks ranks(2);
  RankReport old{};
  old.answers = 1'000;
  for (std::size_t rank = 0; rank < 2; ++rank) publish_report(old, &ranks.board(rank));
  ranks.block(0).claimed_pid.store(stopped);
  ranks.block(1).claimed_pid.store(ended);
  EventLoop loop;
  Examination examination(loop, ranks.subjects(), terms());
  finish(loop, &examination);
  const std::vector<doctor::RankState>& states = examination.snapshot().worlds.at(0).ranks;
  EXPECT_TRUE(states[0].stopped);
  EXPECT_FALSE(states[0].report.has_value()) << "it was not asked: what it once said is old";
  EXPECT_EQ(states[1].life, doctor::Life::kEnded);
  EXPECT_EQ(states[1].wait_status, 7 << 8);
  kill(stopped, SIGKILL);
  for (const pid_t child : {stopped, ended}) waitpid(child, nullptr, 0);
}

TEST(Examination, LooksUpWhatIsToBeTold) {
  Ranks ranks(1);
  ranks.answer(0);
  EventLoop loop;
  Examination examination(loop, ranks.subjects(), terms());
  finish(loop, &examination);
  examination.look_up();
  finish(loop, &examination);
  EXPECT_TRUE(examination.looked_up());
  EXPECT_EQ(examination.diagnosis().groups.size(), 1u);
}

TEST(Examination, PausesBetweenTheRounds) {
  Ranks ranks(1);
  ranks.answer(0);
  EventLoop loop;
  Examination::Terms slow = terms();
  slow.pause_ns = 1'000'000'000'000;
  Examination examination(loop, ranks.subjects(), slow);
  const std::int64_t begin = clock_ns();
  while (examination.due_ns() < begin + slow.pause_ns / 2) {
    ASSERT_FALSE(examination.step());
    loop.run_once(1);
  }
  for (int time = 0; time < 20; ++time) EXPECT_FALSE(examination.step());
  EXPECT_EQ(ranks.board(0).asked.load(), 1u);
}

}  // namespace
}  // namespace tasuki::launch

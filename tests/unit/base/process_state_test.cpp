// Processes of the test's own, in the states that are told apart, and texts that are none.
#include "base/system/process_state.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace tasuki {
namespace {

/// A child that sleeps until it is killed.
pid_t sleeper() {
  const pid_t pid = fork();
  if (pid == 0) {
    for (;;) pause();
  }
  return pid;
}

TEST(ProcessState, OneThatRuns) {
  const ProcessState state = state_of_process(getpid());
  EXPECT_FALSE(state.ended());
  EXPECT_FALSE(state.stopped());
  EXPECT_EQ(state.wait_status, -1);
  EXPECT_EQ(state.parent, getppid());
}

TEST(ProcessState, OneThatIsStoppedAndThenKilled) {
  const pid_t pid = sleeper();
  ASSERT_GT(pid, 0);
  int status = 0;
  kill(pid, SIGSTOP);
  ASSERT_EQ(waitpid(pid, &status, WUNTRACED), pid);
  EXPECT_TRUE(state_of_process(pid).stopped());
  EXPECT_FALSE(state_of_process(pid).ended());
  kill(pid, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  const ProcessState state = state_of_process(pid);
  EXPECT_TRUE(state.ended());
  EXPECT_EQ(state.letter, 'Z');
  EXPECT_EQ(state.wait_status, SIGKILL);
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(state_of_process(pid).letter, 0);
  EXPECT_TRUE(state_of_process(pid).ended());
}

TEST(ProcessState, ExitStatus) {
  const pid_t pid = fork();
  if (pid == 0) _exit(7);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(state_of_process(pid).wait_status, 7 << 8);
  waitpid(pid, nullptr, 0);
}

TEST(ProcessState, AnyTextIsRead) {
  EXPECT_EQ(parse_process_state("7 (a) b (c)) T 1 2 3 9\n").letter, 'T');
  EXPECT_EQ(parse_process_state("7 (Z) R 1 2 3 9\n").letter, 'R');
  EXPECT_EQ(parse_process_state("7 (a) Z 1 2 3 9\n").wait_status, 9);
  EXPECT_EQ(parse_process_state("7 (a) Z 1 2 3 x\n").wait_status, -1);
  EXPECT_EQ(parse_process_state("7 (a) S 1 2 3 9\n").wait_status, -1);
  EXPECT_EQ(parse_process_state("7 (a) S 12 3 9\n").parent, 12);
  EXPECT_EQ(parse_process_state("7 (a) Z").wait_status, -1);
  EXPECT_EQ(parse_process_state("7 (a (b)) S 1").name, "a (b)");
  const ProcessState full =
      parse_process_state("7 (a) S 1 7 7 0 -1 4194308 5 0 0 0 0 0 0 0 20 0 1 0 98765 1 2 3 0\n");
  EXPECT_EQ(full.start_ticks, 98765U);
  EXPECT_TRUE(full.exiting());
  EXPECT_FALSE(parse_process_state("7 (a) S 1 7 7 0 -1 4194304 5\n").exiting());
  for (const char* none : {"", "7", "7 (a", "7 (a)", "7 (a) "}) {
    EXPECT_FALSE(parse_process_state(none).known()) << none;
    EXPECT_FALSE(parse_process_state(none).ended()) << none;
  }
}

// It is a zombie then that has not ended: a second thread is left.
TEST(ProcessState, AProcessOutlivesItsFirstThread) {
  const int child = fork();
  if (child == 0) {
    std::thread([] { pause(); }).detach();
    syscall(SYS_exit, 0);  // of this thread alone
  }
  const ProcessIdentity process{child, state_of_process(child).start_ticks, own_numbering()};
  while (state_of_process(child).letter != 'Z') usleep(1000);
  EXPECT_FALSE(has_ended(process, own_numbering()));
  kill(child, SIGKILL);
  while (!has_ended(process, own_numbering())) usleep(1000);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(has_ended(process, own_numbering()));
}

TEST(ProcessState, ANumberMayBeAnothersLaterOrElsewhere) {
  ProcessIdentity process = ProcessIdentity::own();
  EXPECT_EQ(process.pid, getpid());
  EXPECT_FALSE(has_ended(process, own_numbering()));
  ++process.start_ticks;
  EXPECT_TRUE(has_ended(process, own_numbering()));
  EXPECT_FALSE(has_ended(process, own_numbering() + 1)) << "this process cannot see those";
  EXPECT_FALSE(has_ended({}, 0));
}

}  // namespace
}  // namespace tasuki

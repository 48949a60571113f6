// Finding processes that belong to a job, by parent and by environment.
#include "launch/host/orphans.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace tasuki::launch {
namespace {

bool holds(const std::vector<int>& pids, int pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

/// A process that sleeps, with one variable in its environment; it has its own program when this returns.
class Sleeper {
 public:
  explicit Sleeper(const std::string& assignment) {
    char* const words[] = {const_cast<char*>("sleep"), const_cast<char*>("100"), nullptr};
    char* const environment[] = {const_cast<char*>(assignment.c_str()), nullptr};
    pid_ = vfork();
    if (pid_ == 0) {
      execve("/bin/sleep", words, environment);
      _exit(127);
    }
    while (!has_environment()) usleep(1000);  // vfork() is over a moment before its memory is all there
  }
  ~Sleeper() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  void end() {
    kill(pid_, SIGKILL);
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);  // a zombie from now on
  }
  int pid() const { return pid_; }

 private:
  bool has_environment() const {
    std::ifstream environment("/proc/" + std::to_string(pid_) + "/environ");
    return environment.get() != std::ifstream::traits_type::eof();
  }

  pid_t pid_;
};

TEST(Orphans, AProcessIsKnownByItsWholeMark) {
  Sleeper marked("MARK=12ab");
  EXPECT_TRUE(has_mark(marked.pid(), "MARK=12ab"));
  EXPECT_FALSE(has_mark(marked.pid(), "MARK=12a"));
  EXPECT_FALSE(has_mark(marked.pid(), "ARK=12ab"));
  EXPECT_TRUE(holds(processes_with("MARK=12ab"), marked.pid()));
  EXPECT_FALSE(holds(processes_with("MARK=12"), marked.pid()));
}

TEST(Orphans, AZombieIsAChildButNoLongerRuns) {
  Sleeper marked("MARK=zombie");
  EXPECT_TRUE(holds(children(), marked.pid()));
  marked.end();
  EXPECT_TRUE(holds(children(), marked.pid()));
  EXPECT_FALSE(holds(processes_with("MARK=zombie"), marked.pid()));
}

TEST(Orphans, AGuardIsAHelper) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t guard = fork();
  if (guard == 0) {
    prctl(PR_SET_NAME, kGuardName);
    char ready = 1;
    if (write(ends[1], &ready, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char ready = 0;
  EXPECT_EQ(read(ends[0], &ready, 1), 1);
  EXPECT_TRUE(is_helper(guard));
  EXPECT_FALSE(is_helper(getpid()));
  kill(guard, SIGKILL);
  waitpid(guard, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace tasuki::launch

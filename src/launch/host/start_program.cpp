// vfork: the child borrows our memory until it executes its program, so it may write only to `outcome`, call
// only what a signal handler may, and must leave by execve or _exit.
#include "launch/host/start_program.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/system/kill_score.hpp"

namespace tasuki::launch {
namespace {

struct Outcome {
  volatile int error = 0;
  const char* volatile step = "";
};

[[noreturn]] void give_up(Outcome& outcome, const char* step) {
  outcome.error = errno;
  outcome.step = step;
  _exit(127);
}

void take_descriptors(const Start& start, Outcome& outcome) {
  for (int fd = 0; fd < 3; ++fd) {
    const int from = start.descriptors[fd];
    const bool good = from == fd ? fcntl(fd, F_SETFD, 0) == 0 : dup2(from, fd) == fd;
    if (!good) give_up(outcome, "redirect its standard input and output");
  }
  if (fcntl(start.segment_fd, F_SETFD, 0) != 0) give_up(outcome, "pass the job's memory on");
}

void restore_inherited(const Inherited& inherited) {
  for (std::size_t index = 0; index < inherited.signals.size(); ++index) {
    sigaction(inherited.signals[index], &inherited.actions[index], nullptr);
  }
  setrlimit(RLIMIT_NOFILE, &inherited.files);
  sigprocmask(SIG_SETMASK, &inherited.mask, nullptr);
}

/// A script without "#!" is the shell's, as for execvp.
void execute_by_shell(const Start& start) {
  constexpr int kArgumentsMax = 1024;
  char* arguments[kArgumentsMax + 3];
  int count = 0;
  arguments[count++] = const_cast<char*>("/bin/sh");
  arguments[count++] = const_cast<char*>(start.path);
  for (char* const* word = start.arguments + 1; *word != nullptr; ++word) {
    if (count > kArgumentsMax) {
      errno = E2BIG;
      return;
    }
    arguments[count++] = *word;
  }
  arguments[count] = nullptr;
  execve(arguments[0], arguments, start.environment);
}

[[noreturn]] [[gnu::noinline]] void become(const Start& start, pid_t launcher, Outcome& outcome) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(127);  // it died before the line above could hold
  take_descriptors(start, outcome);
  if (start.directory != nullptr && chdir(start.directory) != 0) give_up(outcome, "enter its directory");
  // A set that this container refuses is no reason to fail: the rank then runs unbound.
  if (start.processors != nullptr) sched_setaffinity(0, start.processors_bytes, start.processors);
  if (start.kill_score != nullptr) set_kill_score(start.kill_score);
  restore_inherited(*start.inherited);
  execve(start.path, start.arguments, start.environment);
  if (errno == ENOEXEC) execute_by_shell(start);
  give_up(outcome, "execute it");
}

}  // namespace

Started start_program(const Start& start) {
  Outcome outcome;
  const pid_t launcher = getpid();
  const pid_t pid = vfork();
  if (pid == 0) become(start, launcher, outcome);
  if (pid < 0) return {-1, errno, "make a process"};
  if (outcome.error != 0) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return {-1, outcome.error, outcome.step};
  }
  return {pid, 0, ""};
}

}  // namespace tasuki::launch

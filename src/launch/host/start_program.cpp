// As vfork does it: the child borrows our memory, with a stack of its own, until it executes its program. So
// it may write only to `outcome`, call only what a signal handler may, and must leave by execve or _exit.
#include "launch/host/start_program.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/system/kill_score.hpp"

namespace tasuki::launch {
namespace {

constexpr std::size_t kStackBytes = 128 << 10;

struct Outcome {
  volatile int error = 0;
  const char* volatile step = "";
};

struct Beginning {
  const Start& start;
  const pid_t launcher;
  Outcome& outcome;
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

int become(void* argument) {
  const auto& [start, launcher, outcome] = *static_cast<const Beginning*>(argument);
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

Started start_program(const Start& start, pid_t launcher) {
  void* const stack =
      mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return {-1, errno, "make a process"};
  Outcome outcome;
  Beginning beginning{start, launcher, outcome};
  const int parent = launcher == getpid() ? 0 : CLONE_PARENT;
  const pid_t pid = clone(&become, static_cast<char*>(stack) + kStackBytes,
                          CLONE_VM | CLONE_VFORK | SIGCHLD | parent, &beginning);
  const int error = pid < 0 ? errno : outcome.error;
  munmap(stack, kStackBytes);
  return {pid, error, pid < 0 ? "make a process" : outcome.step};
}

}  // namespace tasuki::launch

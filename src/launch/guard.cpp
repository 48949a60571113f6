// The guard's whole life: close what is not its own, wait, kill.
#include "launch/guard.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace tasuki::launch {
namespace {

[[noreturn]] void watch(int lifeline, Segment& segment) {
  setpgid(0, 0);  // Ctrl-C is not for it
  prctl(PR_SET_NAME, "mpiexec-guard");
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) dup2(nothing, fd);  // whoever reads mpiexec's output must not wait for it
  char byte = 0;
  while (read(lifeline, &byte, 1) < 0 && errno == EINTR) {
  }
  for (int rank = 0; rank < segment.header().size; ++rank) {
    const int group = segment.rank(rank).started_pid.load(std::memory_order_acquire);
    if (group > 0) kill(-group, SIGKILL);
  }
  _exit(0);
}

}  // namespace

void Guard::start(Segment& segment) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[1]);
    watch(ends[0], segment);
  }
  close(ends[0]);
  lifeline_ = ends[1];
}

Guard::~Guard() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (lifeline_ >= 0) close(lifeline_);
}

}  // namespace tasuki::launch

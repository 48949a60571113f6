// A fork, with its standard error in a memory file.
#include "support/child.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

namespace tasuki::test {
namespace {

using Clock = std::chrono::steady_clock;

std::string contents(int fd) {
  std::string text(static_cast<std::size_t>(std::max<off_t>(0, lseek(fd, 0, SEEK_END))), '\0');
  const ssize_t count = pread(fd, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
  return text;
}

/// Waits for the child until the time is over. Returns whether it has ended.
bool ends_in_time(pid_t child, double seconds_max, int* status) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds_max);
  while (waitpid(child, status, WNOHANG) != child) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

Ending run_in_child(const std::function<void()>& body, double seconds_max) {
  const int output = memfd_create("child-output", MFD_CLOEXEC);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    dup2(output, STDERR_FILENO);
    body();
    _exit(0);
  }
  int status = 0;
  const bool in_time = ends_in_time(child, seconds_max, &status);
  if (!in_time) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  Ending ending;
  ending.text = contents(output);
  close(output);
  const bool told = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT &&
                    ending.text.find(" aborts with ") != std::string::npos;
  ending.how = !in_time                                        ? Ended::kHung
               : WIFEXITED(status) && WEXITSTATUS(status) == 0 ? Ended::kWell
               : told                                          ? Ended::kTold
                                                               : Ended::kCrashed;
  if (ending.how == Ended::kCrashed) ending.text += "\nwait status " + std::to_string(status);
  return ending;
}

}  // namespace tasuki::test

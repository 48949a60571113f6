// posix_spawn with three pipes.
#include "launch/hosts/launched_agent.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "launch/base/spawn_attributes.hpp"

extern char** environ;

namespace tasuki::launch {
namespace {

struct Pipe {
  int read_end = -1;
  int write_end = -1;

  bool make() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
};

void close_if_open(int fd) {
  if (fd >= 0) close(fd);
}

/// In a process group of its own: ^C is for mpiexec, which then ends the job in order.
int spawn(const std::vector<std::string>& words, int in, int out, int error, pid_t* pid) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, error, STDERR_FILENO);
  const SpawnAttributes attributes(SpawnAttributes::Group::kOwn);
  const int failed = posix_spawnp(pid, arguments[0], &actions, attributes.get(), arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

int as_shell_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

LaunchedAgent::LaunchedAgent(EventLoop& loop, const std::vector<std::string>& words, LaunchedAgentUser& user,
                             std::string_view first)
    : loop_(loop), user_(user) {
  Pipe in;
  Pipe out;
  Pipe error;
  int failed = in.make() && out.make() && error.make() ? 0 : errno;
  if (failed == 0) failed = spawn(words, in.read_end, out.write_end, error.write_end, &pid_);
  for (const int fd : {in.read_end, out.write_end, error.write_end}) close_if_open(fd);
  if (failed == 0) {
    fcntl(error.read_end, F_SETFL, O_NONBLOCK);
    words_fd_ = error.read_end;
    loop_.add_readable(words_fd_, this);
    channel_ = std::make_unique<Channel>(loop, out.read_end, in.write_end, user);
    channel_->send_first(first);
    channel_->greet();
    return;
  }
  for (const int fd : {in.write_end, out.read_end, error.read_end}) close_if_open(fd);
  pid_ = -1;
  error_ = "cannot run '" + words[0] + "': " + std::strerror(failed);
}

/// The agent notices that the channel ends; the launcher ends with it, or is killed.
LaunchedAgent::~LaunchedAgent() {
  close_words();
  if (channel_ != nullptr) channel_->close();
  constexpr int kPatienceMs = 300;
  if (pid_ <= 0 || exit_status(kPatienceMs) >= 0) return;
  kill(-pid_, SIGKILL);
  exit_status(kPatienceMs);
}

void LaunchedAgent::ready() {
  char bytes[16 * 1024];
  for (int round = 0; words_fd_ >= 0 && round < 16; ++round) {  // one that goes on is not waited for
    const ssize_t count = read(words_fd_, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return close_words();
    user_.take_words({bytes, static_cast<std::size_t>(count)});
  }
}

void LaunchedAgent::close_words() {
  if (words_fd_ < 0) return;
  loop_.remove(words_fd_);
  close(words_fd_);
  words_fd_ = -1;
}

int LaunchedAgent::exit_status(int wait_ms) {
  for (int waited_ms = 0; pid_ > 0 && status_ < 0; ++waited_ms) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      status_ = as_shell_status(status);
      pid_ = -1;
    } else if (waited_ms >= wait_ms) {
      break;
    } else {
      const timespec pause{0, 1'000'000};
      nanosleep(&pause, nullptr);
    }
  }
  return status_;
}

}  // namespace tasuki::launch

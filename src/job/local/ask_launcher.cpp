// How a rank reaches an mpiexec to spawn: the one that started it, or one that it starts for that.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "job/local/local.hpp"

extern char** environ;

namespace tasuki::local {
namespace {

/// The mpiexec that TASUKI_MPIEXEC names, else that of the installation this library belongs to, else the one
/// in PATH.
std::string find_launcher() {
  if (const char* named = std::getenv("TASUKI_MPIEXEC"); named != nullptr && *named != '\0') return named;
  Dl_info library{};
  char path[PATH_MAX];
  if (dladdr(reinterpret_cast<void*>(&connect_to_launcher), &library) != 0 && library.dli_fname != nullptr &&
      realpath(library.dli_fname, path) != nullptr) {
    std::string directory(path);
    directory.resize(directory.rfind('/'));
    for (const char* beside : {"/../bin/mpiexec", "/bin/mpiexec"}) {
      if (access((directory + beside).c_str(), X_OK) == 0) return directory + beside;
    }
  }
  return "mpiexec";
}

/// Runs `launcher` with our end of the socket's twin. It leaves its first process as soon as it serves.
bool run_launcher(const std::string& launcher, int its_socket, std::string* error) {
  const std::string number = std::to_string(its_socket);
  std::string words[] = {launcher, "--serve-spawns", number};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, its_socket, its_socket);  // clears close-on-exec
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, launcher.c_str(), &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    *error = "cannot start '" + launcher + "', which a program that runs alone needs to spawn (" +
             std::strerror(failed) + "); TASUKI_MPIEXEC can name it";
    return false;
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return true;
}

/// Names of abstract sockets are free for all users to take, also that of an mpiexec which has died.
bool listens_for_this_user(int fd) {
  ucred listener{};
  socklen_t bytes = sizeof listener;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &listener, &bytes) == 0 && listener.uid == geteuid();
}

}  // namespace

void tell_values_put(const char* socket_name) {
  const int socket = connect_to_launcher(socket_name);
  if (socket < 0) return;  // it looks again within a second
  write_message(socket, values_put());
  close(socket);
}

bool ask_launcher(int socket, const std::string& request, std::string* text, std::string* error) {
  std::string message;
  SpawnAnswer answer;
  if (!write_message(socket, request) || !read_message(socket, &message)) {
    *error = "mpiexec has closed the connection";
    return false;
  }
  if (!decode(message, &answer)) {
    *error = "mpiexec gave an answer of another version";
    return false;
  }
  *error = answer.error;
  *text = answer.text;
  return answer.error.empty();
}

int connect_to_launcher(const char* name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = strnlen(name, sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name, length);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  int reason = EACCES;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), bytes) != 0) {
    reason = errno;
  } else if (listens_for_this_user(fd)) {
    return fd;
  }
  close(fd);
  errno = reason;
  return -1;
}

bool OwnLauncher::start(std::string* error) {
  if (socket_ >= 0 && !gone()) return true;
  if (socket_ >= 0) close(std::exchange(socket_, -1));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    *error = std::string("cannot make a socket to an mpiexec: ") + std::strerror(errno);
    return false;
  }
  const std::string launcher = find_launcher();
  std::string greeting;
  bool good = run_launcher(launcher, ends[1], error);
  close(ends[1]);
  if (good && (!read_message(ends[0], &greeting) || greeting != farewell())) {
    *error = "'" + launcher + "' is no mpiexec of this library; TASUKI_MPIEXEC can name it";
    good = false;
  }
  if (!good) {
    close(ends[0]);
    return false;
  }
  socket_ = ends[0];
  return true;
}

bool OwnLauncher::gone() const {
  char byte;
  const ssize_t count = socket_ >= 0 ? recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) : 1;
  return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void OwnLauncher::report_connections(const ConnectionReport& report) {
  std::string nothing;
  if (socket_ >= 0) ask_launcher(socket_, encode(report), &nothing, &nothing);
}

void OwnLauncher::take_leave() {
  if (socket_ < 0) return;
  write_message(socket_, farewell());
  close(std::exchange(socket_, -1));
}

OwnLauncher::~OwnLauncher() {
  take_leave();
}

}  // namespace tasuki::local

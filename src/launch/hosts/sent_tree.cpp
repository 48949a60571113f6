// tar here, tar there.
#include "launch/hosts/sent_tree.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/system/memory_file.hpp"
#include "launch/base/format.hpp"

extern char** environ;

namespace tasuki::launch {
namespace {

/// Runs the words with `fd` as their output. Returns the exit status, or -1.
int run_into(int fd, const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool read_all(int fd, std::string* bytes) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return false;
  bytes->resize(static_cast<std::size_t>(info.st_size));
  std::size_t done = 0;
  while (done < bytes->size()) {
    const ssize_t count = pread(fd, bytes->data() + done, bytes->size() - done, static_cast<off_t>(done));
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

bool pack_installation(const std::string& mpiexec, std::string* archive, std::string* error) {
  const std::string bin = mpiexec.substr(0, mpiexec.rfind('/'));
  const std::string prefix = bin.substr(0, bin.rfind('/'));
  const int fd = make_memory_file("tasuki-archive");
  // Libraries and what mpiexec starts; no headers, no Python, no examples.
  const std::vector<std::string> words = {"tar",
                                          "-C",
                                          prefix,
                                          "--exclude=*.a",
                                          "--exclude=python",
                                          "--exclude=cmake",
                                          "--exclude=pkgconfig",
                                          "-czf",
                                          "-",
                                          "bin/mpiexec",
                                          "lib"};
  std::vector<std::string> with_helpers = words;
  if (access((prefix + "/libexec").c_str(), R_OK) == 0) with_helpers.emplace_back("libexec");
  const int status = fd >= 0 ? run_into(fd, with_helpers) : -1;
  const bool packed = status == 0 && read_all(fd, archive);
  if (fd >= 0) close(fd);
  if (!packed) *error = format("tar could not pack %s (status %d)", prefix.c_str(), status);
  return packed;
}

bool is_missing_there(int exit_status) {
  return exit_status == 126 || exit_status == 127;
}

std::vector<std::string> agent_command_of_archive(const RemoteStarter& starter, const HostSlots& host,
                                                  std::size_t archive_bytes) {
  // The shell stays, to remove the folder; a signal that ends it ends the agent by the end of its input.
  const std::string script = format(
      "d=$(mktemp -d \"${TMPDIR:-/tmp}/tasuki.XXXXXX\") || exit 1; trap 'rm -rf \"$d\"' EXIT; trap 'exit "
      "129' HUP INT "
      "TERM; head -c %zu | tar -xzf - -C \"$d\" && \"$d\"/bin/mpiexec --agent",
      archive_bytes);
  return command_on_host(starter, host, {"sh", "-c", script});
}

}  // namespace tasuki::launch

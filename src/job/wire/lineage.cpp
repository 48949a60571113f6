// Reading /proc.
#include "job/wire/lineage.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

#include "base/system/memory_file.hpp"
#include "base/system/process_state.hpp"
#include "node/processors.hpp"

namespace tasuki::wire {
namespace {

constexpr int kAncestorsMax = 64;

std::string path_of(int pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

/// Whether the environment that a process began with holds `entry`, "NAME=value" or the beginning of one.
bool has_entry(const std::string& environment, const std::string& entry, bool whole) {
  const std::string text = '\0' + environment;
  const std::size_t at = text.find('\0' + entry + (whole ? std::string(1, '\0') : std::string()));
  return at != std::string::npos;
}

/// Whether the process has the memory that ranks make when they join.
bool is_rank(int pid) {
  DIR* const folder = opendir(path_of(pid, "fd").c_str());
  if (folder == nullptr) return false;
  bool found = false;
  for (const dirent* entry = readdir(folder); entry != nullptr && !found; entry = readdir(folder)) {
    char target[96] = "";
    if (readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1) > 0)
      found = is_memory_file_name(target, kNodeMemoryName);
  }
  closedir(folder);
  return found;
}

/// "socket:[NUMBER]" where descriptor `fd` of the process is one; else empty.
std::string socket_of(const std::string& process, int fd) {
  char target[96] = "";
  const std::string path = "/proc/" + process + "/fd/" + std::to_string(fd);
  if (fd < 0 || readlink(path.c_str(), target, sizeof target - 1) <= 0) return {};
  return std::strncmp(target, "socket:", 7) == 0 ? target : std::string();
}

/// Whether programs that the process starts do not get its descriptor `fd`.
bool is_closed_on_exec(int pid, int fd) {
  const std::string text = local::read_text(path_of(pid, ("fdinfo/" + std::to_string(fd)).c_str()));
  const std::size_t at = text.find("flags:");
  return at == std::string::npos || (std::strtoul(text.c_str() + at + 6, nullptr, 8) & O_CLOEXEC) != 0;
}

/// The socket that a lineage hands down: this process's; or, where that has none, the first one that is met,
/// and who has it.
struct HandedDown {
  int fd = -1;         // its number; -1: there is none to look at
  std::string socket;  // empty: not known yet
  int holder = 0;
};

/// Whether process `pid` has another socket under that number: then it is a launcher that gave its own
/// children one.
bool has_another(int pid, HandedDown* handed) {
  if (handed->fd < 0) return false;
  const std::string socket = socket_of(std::to_string(pid), handed->fd);
  if (!handed->socket.empty()) return socket != handed->socket;
  if (!socket.empty() && !is_closed_on_exec(pid, handed->fd)) {
    handed->socket = socket;
    handed->holder = pid;
  }
  return false;
}

/// Climbs as long as the ancestors have the same `variables`, and the same socket where one is handed down.
Lineage lineage_of(const std::vector<const char*>& variables, HandedDown* handed) {
  std::vector<std::string> entries;
  for (const char* name : variables) {
    if (const char* value = std::getenv(name); value != nullptr)
      entries.push_back(std::string(name) + "=" + value);
  }
  Lineage lineage;
  if (entries.size() < variables.size()) return lineage;
  int pid = getppid();
  for (int i = 0; i < kAncestorsMax && pid > 0; ++i) {
    const std::string environment = local::read_text(path_of(pid, "environ"));
    const bool same = std::all_of(entries.begin(), entries.end(), [&](const std::string& entry) {
      return has_entry(environment, entry, true);
    });
    lineage.taken = same && is_rank(pid);
    if (lineage.taken) return lineage;
    if (!same || has_another(pid, handed)) {
      lineage.launcher = pid;
      lineage.steps = i + 1;
      return lineage;
    }
    pid = state_of_process(pid).parent;
  }
  return lineage;
}

int told_pmi_fd() {
  const char* const text = std::getenv("PMI_FD");
  char* end = nullptr;
  const long fd = text != nullptr ? std::strtol(text, &end, 10) : -1;
  return text != nullptr && end != text && *end == '\0' && fd >= 0 && fd < (1 << 30) ? static_cast<int>(fd)
                                                                                     : -1;
}

bool is_stream_socket(int fd) {
  int type = 0;
  socklen_t bytes = sizeof type;
  return fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
}

}  // namespace

WireFacts gather_wire_facts() {
  WireFacts facts;
  facts.get = std::getenv;
  HandedDown handed{.fd = told_pmi_fd(), .socket = {}, .holder = 0};
  facts.pmi_fd_is_open = is_stream_socket(handed.fd);
  if (facts.pmi_fd_is_open) handed.socket = socket_of("self", handed.fd);
  facts.pmi_fd = lineage_of({"PMI_FD", "PMI_RANK", "PMI_SIZE"}, &handed);
  facts.pmi_fd_holder = handed.holder;
  HandedDown nothing;
  facts.pmi_port = lineage_of({"PMI_PORT", "PMI_ID"}, &nothing);
  facts.pmix = lineage_of({"PMIX_NAMESPACE", "PMIX_RANK"}, &nothing);
  return facts;
}

int take_pmi_fd(const WireFacts& facts) {
  const int fd = told_pmi_fd();
  if (facts.pmi_fd_is_open) return fd;
  const auto process = static_cast<int>(syscall(SYS_pidfd_open, facts.pmi_fd_holder, 0));
  if (process < 0) return -1;
  const auto copy = static_cast<int>(syscall(SYS_pidfd_getfd, process, fd, 0));
  const int reason = errno;
  close(process);
  errno = reason;
  return copy;
}

int count_started(int launcher, const char* variable) {
  const std::string threads = path_of(launcher, "task");
  DIR* const folder = opendir(threads.c_str());
  if (folder == nullptr) return -1;
  int count = 0;
  for (const dirent* thread = readdir(folder); thread != nullptr; thread = readdir(folder)) {
    std::istringstream children(local::read_text(threads + "/" + thread->d_name + "/children"));
    for (int child = 0; children >> child;) {
      if (has_entry(local::read_text(path_of(child, "environ")), std::string(variable) + "=", false)) ++count;
    }
  }
  closedir(folder);
  return count > 0 ? count : -1;
}

int local_tasks(const std::string& tasks_per_node, int node) {
  std::istringstream groups(tasks_per_node);
  for (std::string group; std::getline(groups, group, ',');) {
    int tasks = 0;
    int nodes = 1;
    if (std::sscanf(group.c_str(), "%d(x%d)", &tasks, &nodes) < 1 || tasks < 1 || nodes < 1) return -1;
    if (node < nodes) return tasks;
    node -= nodes;
  }
  return -1;
}

}  // namespace tasuki::wire

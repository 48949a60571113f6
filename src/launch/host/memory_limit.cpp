// Reading the files of a memory control group, of either version.
#include "launch/host/memory_limit.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "launch/base/format.hpp"
#include "node/processors.hpp"

namespace tasuki::launch {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;
constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;  // version 1 writes a number close to 2^63

using local::read_text;

/// The number behind `name` at the beginning of a line; -1: there is none.
std::int64_t number_of(const char* text, const char* name) {
  const std::size_t length = strlen(name);
  for (const char* line = text; line != nullptr && *line != '\0';) {
    if (strncmp(line, name, length) == 0 && line[length] == ' ')
      return std::strtoll(line + length, nullptr, 10);
    line = strchr(line, '\n');
    if (line != nullptr) ++line;
  }
  return -1;
}

/// What the file holds now, as far as there is room for it; empty when it cannot be read. Takes no memory.
template <std::size_t kBytes>
const char* read_again(int fd, char (&text)[kBytes]) {
  const ssize_t got = fd >= 0 ? pread(fd, text, kBytes - 1, 0) : -1;
  text[std::max<ssize_t>(got, 0)] = '\0';
  return text;
}

/// -1: unknown.
std::int64_t killed_in(int fd) {
  char text[1024];
  return number_of(read_again(fd, text), "oom_kill");
}

int open_to_read(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

/// The file that counts the processes of a group that were killed; -1: there is none.
int open_killed(const std::string& directory) {
  for (const char* name : {"/memory.events", "/memory.oom_control"}) {
    const int fd = open_to_read(directory + name);
    if (killed_in(fd) >= 0) return fd;
    if (fd >= 0) close(fd);
  }
  return -1;
}

/// The limit that a group itself has, or version 1's least of it and its parents'.
std::int64_t limit_of(const std::string& directory) {
  const std::string own = read_text(directory + "/memory.max");
  if (!own.empty() && own[0] != 'm') return std::strtoll(own.c_str(), nullptr, 10);
  const std::int64_t least =
      number_of(read_text(directory + "/memory.stat").c_str(), "hierarchical_memory_limit");
  return least >= 0 ? least : kUnlimited;
}

/// The file that says what a group uses; -1: there is none.
int open_usage(const std::string& directory) {
  const int fd = open_to_read(directory + "/memory.current");
  return fd >= 0 ? fd : open_to_read(directory + "/memory.usage_in_bytes");
}

}  // namespace

MemoryLimit::MemoryLimit(std::string cgroup_root)
    : MemoryLimit(std::move(cgroup_root), read_text("/proc/self/cgroup")) {}

MemoryLimit::MemoryLimit(std::string cgroup_root, const std::string& memberships) {
  // Lines are number:controllers:path; version 2 names no controllers.
  for (std::size_t begin = 0; begin < memberships.size();) {
    const std::size_t end = std::min(memberships.find('\n', begin), memberships.size());
    const std::string line = memberships.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool version_2 = controllers == ",,";
    if (!version_2 && controllers.find(",memory,") == std::string::npos) continue;
    const std::string mount = cgroup_root + (version_2 ? "" : "/memory");
    std::string path = line.substr(second + 1);
    // Where a container sees its own groups only, the path is one of outside, and the mount is its group.
    if (path == "/" || access((mount + path).c_str(), F_OK) != 0) path.clear();
    const int killed_fd = open_killed(mount + path);
    if (killed_fd < 0) continue;
    if (killed_fd_ >= 0) close(killed_fd_);
    killed_fd_ = killed_fd;
    directory_ = mount + path;
    mount_ = mount;
    killed_ = killed_in(killed_fd);
  }
  open_bounds();
}

MemoryLimit::~MemoryLimit() {
  if (killed_fd_ >= 0) close(killed_fd_);
  for (const Bound& bound : bounds_) close(bound.usage_fd);
}

/// Our group's, then those above it.
template <class Each>
void MemoryLimit::for_each_directory(Each&& each) const {
  for (std::string directory = directory_; !directory.empty(); directory.erase(directory.rfind('/'))) {
    each(directory);
    if (directory.size() <= mount_.size()) return;
  }
}

void MemoryLimit::open_bounds() {
  for_each_directory([this](const std::string& directory) {
    const std::int64_t limit = limit_of(directory);
    const int fd = limit < kUnlimited ? open_usage(directory) : -1;
    if (fd >= 0) bounds_.push_back({limit, fd});
  });
  room_bytes();  // what the kernel needs to read those files it keeps from the first time on
}

bool MemoryLimit::has_killed() const {
  return killed_fd_ >= 0 && killed_in(killed_fd_) > killed_;
}

std::int64_t MemoryLimit::room_bytes() const {
  std::int64_t room = kUnlimited;
  for (const Bound& bound : bounds_) {
    char text[64];
    const std::int64_t used = std::strtoll(read_again(bound.usage_fd, text), nullptr, 10);
    room = std::min(room, bound.limit_bytes - used);
  }
  return room;
}

std::string MemoryLimit::exceeded() const {
  if (!has_killed()) return "";
  std::int64_t least = kUnlimited;
  for_each_directory(
      [&least](const std::string& directory) { least = std::min(least, limit_of(directory)); });
  if (least >= kUnlimited) return "the machine ran out of memory";
  return format("the memory limit of its control group, %lld MiB, was reached",
                static_cast<long long>(least / kMiB));
}

}  // namespace tasuki::launch

// Reading the files of a memory control group, of either version.
#include "launch/memory_limit.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "launch/text.hpp"
#include "runtime/local/processors.hpp"

namespace tasuki::launch {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;
constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;  // version 1 writes a number close to 2^63

using local::read_text;

/// The number behind `name` at the beginning of a line; -1: there is none.
std::int64_t number_of(const std::string& text, const std::string& name) {
  const std::string wanted = "\n" + name + " ";
  const std::size_t at = ("\n" + text).find(wanted);
  return at == std::string::npos ? -1 : std::strtoll(text.c_str() + at + wanted.size() - 1, nullptr, 10);
}

std::int64_t killed_in(const std::string& directory) {
  const std::int64_t killed = number_of(read_text(directory + "/memory.events"), "oom_kill");
  return killed >= 0 ? killed : number_of(read_text(directory + "/memory.oom_control"), "oom_kill");
}

/// The limit that a group itself has, or version 1's least of it and its parents'.
std::int64_t limit_of(const std::string& directory) {
  const std::string own = read_text(directory + "/memory.max");
  if (!own.empty() && own[0] != 'm') return std::strtoll(own.c_str(), nullptr, 10);
  const std::int64_t least = number_of(read_text(directory + "/memory.stat"), "hierarchical_memory_limit");
  return least >= 0 ? least : kUnlimited;
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
    const std::int64_t killed = killed_in(mount + path);
    if (killed < 0) continue;
    directory_ = mount + path;
    mount_ = mount;
    killed_ = killed;
  }
}

std::string MemoryLimit::exceeded() const {
  if (directory_.empty() || killed_in(directory_) <= killed_) return "";
  std::int64_t least = kUnlimited;
  for (std::string directory = directory_;; directory.erase(directory.rfind('/'))) {
    least = std::min(least, limit_of(directory));
    if (directory.size() <= mount_.size()) break;
  }
  if (least >= kUnlimited) return "the machine ran out of memory";
  return format("the memory limit of its control group, %lld MiB, was reached",
                static_cast<long long>(least / kMiB));
}

}  // namespace tasuki::launch

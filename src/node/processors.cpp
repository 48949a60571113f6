// Affinity and cgroup quota.
#include "node/processors.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace tasuki::local {

std::string read_text(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char part[4096];
  for (ssize_t got = 0; (got = read(fd, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  close(fd);
  return text;
}

namespace {

/// Rounded down: a spinning rank above the quota throttles all of them. 0: no limit.
int whole_processors(long long quota_us, long long period_us) {
  if (quota_us <= 0 || period_us <= 0) return 0;
  return static_cast<int>(std::clamp<long long>(quota_us / period_us, 1, 1 << 20));
}

/// The quota of one cgroup directory, either version; 0: none.
int directory_quota(const std::string& directory) {
  const std::string both = read_text(directory + "/cpu.max");  // "QUOTA PERIOD" or "max PERIOD"
  if (!both.empty()) {
    char* end = nullptr;
    const long long quota = std::strtoll(both.c_str(), &end, 10);
    return whole_processors(quota, std::strtoll(end, nullptr, 10));
  }
  const std::string quota = read_text(directory + "/cpu.cfs_quota_us");
  const std::string period = read_text(directory + "/cpu.cfs_period_us");
  return whole_processors(std::strtoll(quota.c_str(), nullptr, 10),
                          std::strtoll(period.c_str(), nullptr, 10));
}

/// The least quota of the cgroup `path` below `mount` and of its parents. A path that does not exist there
/// (a container that sees its own root only) is skipped up to the part that does.
int least_quota(const std::string& mount, std::string path) {
  int least = 0;
  while (true) {
    const int quota = directory_quota(mount + path);
    if (quota > 0) least = least > 0 ? std::min(least, quota) : quota;
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.resize(slash);
  }
}

bool names_cpu(const std::string& controllers) {
  return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

}  // namespace

int processors_in_quota(const std::string& cgroup_root, const std::string& memberships) {
  int least = 0;
  std::size_t begin = 0;
  while (begin < memberships.size()) {
    const std::size_t end = std::min(memberships.find('\n', begin), memberships.size());
    const std::string line = memberships.substr(begin, end - begin);  // "ID:CONTROLLERS:PATH"
    begin = end + 1;
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !names_cpu(controllers)) continue;
    const std::string mount = controllers.empty() ? cgroup_root : cgroup_root + "/" + controllers;
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    int quota = least_quota(mount, path);
    if (quota == 0 && !controllers.empty()) quota = least_quota(cgroup_root + "/cpu", path);
    if (quota > 0) least = least > 0 ? std::min(least, quota) : quota;
  }
  return least;
}

std::vector<int> affinity_mask() {
  std::vector<int> mask;
  for (int processors = 1024; processors <= 1 << 20; processors *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(processors));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(processors));
    const bool fits = sched_getaffinity(0, bytes, set) == 0;
    for (int processor = 0; fits && processor < processors; ++processor) {
      if (CPU_ISSET_S(static_cast<std::size_t>(processor), bytes, set)) mask.push_back(processor);
    }
    CPU_FREE(set);
    if (fits) break;
  }
  return mask;
}

int home_of(const std::vector<int>& mask, int rank, int size) {
  const auto processors = static_cast<long long>(mask.size());
  if (processors == 0 || size <= processors) return -1;
  return mask[static_cast<std::size_t>(rank * processors / size)];
}

bool visit_processor(int processor) {
  const std::vector<int> mask = affinity_mask();
  if (!std::binary_search(mask.begin(), mask.end(), processor)) return false;
  const int processors = mask.back() + 1;
  const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(processors));
  cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(processors));
  if (set == nullptr) return false;
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(static_cast<std::size_t>(processor), bytes, set);
  const bool moved = sched_setaffinity(0, bytes, set) == 0;
  if (moved) {
    for (const int allowed : mask) CPU_SET_S(static_cast<std::size_t>(allowed), bytes, set);
    sched_setaffinity(0, bytes, set);
  }
  CPU_FREE(set);
  return moved;
}

int processors_available() {
  const int mask = std::max(static_cast<int>(affinity_mask().size()), 1);
  const int quota = processors_in_quota("/sys/fs/cgroup", read_text("/proc/self/cgroup"));
  return quota > 0 ? std::min(mask, quota) : mask;
}

std::uint64_t machine_number() {
  std::string name = read_text("/proc/sys/kernel/random/boot_id");
  if (name.empty()) {
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    name = host;
  }
  return std::hash<std::string>{}(name);
}

}  // namespace tasuki::local

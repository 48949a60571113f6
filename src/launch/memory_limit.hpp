// Whether the kernel has killed processes of our control group because memory ran out, and how it is told.
//
// The kernel counts them in each group: in memory.events (version 2) or memory.oom_control (version 1). The
// ranks are in mpiexec's group unless they left it, so a count that has grown since the start explains a rank
// that was killed by signal 9.
#pragma once

#include <cstdint>
#include <string>

namespace tasuki::launch {

class MemoryLimit {
 public:
  /// Notes the count of now. `cgroup_root` is where the groups are mounted, `memberships` the text of
  /// /proc/self/cgroup.
  explicit MemoryLimit(std::string cgroup_root = "/sys/fs/cgroup");
  MemoryLimit(std::string cgroup_root, const std::string& memberships);

  /// Why the kernel killed a process of the group since then, like "the memory limit of its control group
  /// (64 MiB) was reached"; empty when it killed none, or does not say.
  std::string exceeded() const;

 private:
  std::string directory_;  // of our group; empty: there is none that counts
  std::string mount_;      // its first part, where the groups of the same kind begin
  std::int64_t killed_ = 0;
};

}  // namespace tasuki::launch

// Whether the kernel has killed processes of our control group because memory ran out, and the words for it.
//
// The kernel counts them in each group: in memory.events (version 2) or memory.oom_control (version 1). The
// ranks are in mpiexec's group unless they left it, so a count that has grown since the start explains a rank
// that was killed by signal 9.
//
// has_killed() and room_bytes() are asked when there is no memory: their files are open, and were read once,
// so that neither we nor the kernel need any for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tasuki::launch {

class MemoryLimit {
 public:
  /// Notes the count of now. `cgroup_root` is where the groups are mounted, `memberships` the text of
  /// /proc/self/cgroup.
  explicit MemoryLimit(std::string cgroup_root = "/sys/fs/cgroup");
  MemoryLimit(std::string cgroup_root, const std::string& memberships);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  /// Whether the kernel has killed a process of the group since then.
  bool has_killed() const;

  /// How much memory the limits of the group and its parents leave; very much where nothing limits it.
  std::int64_t room_bytes() const;

  /// Why the kernel killed a process of the group since then, like "the memory limit of its control group
  /// (64 MiB) was reached"; empty when it killed none, or does not say.
  std::string exceeded() const;

 private:
  /// A group that has a limit: ours, or one above it.
  struct Bound {
    std::int64_t limit_bytes;
    int usage_fd;
  };

  template <class Each>
  void for_each_directory(Each&& each) const;
  void open_bounds();

  std::string directory_;  // of our group; empty: there is none that counts
  std::string mount_;      // its first part, where the groups of the same kind begin
  int killed_fd_ = -1;     // the file that counts them
  std::int64_t killed_ = 0;
  std::vector<Bound> bounds_;
};

}  // namespace tasuki::launch

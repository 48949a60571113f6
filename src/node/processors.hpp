// How many processors this process may really use: what the affinity mask allows, cut down to the cgroup's
// quota. The machine's own number says nothing in a container.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tasuki::local {

/// At least 1.
int processors_available();

/// What a file of /proc or /sys says; empty when it cannot be read.
std::string read_text(const std::string& path);

/// A number of this machine, the same for all its processes since it was booted.
std::uint64_t machine_number();

/// The numbers of the processors in this process's affinity mask, ascending; empty when the kernel does not
/// tell.
std::vector<int> affinity_mask();

/// The home of `rank` of `size` ranks that share the processors in `mask`: each gets as many of them, give
/// or take one, neighbours together. -1 where there is a processor for each.
int home_of(const std::vector<int>& mask, int rank, int size);

/// Moves the calling thread to `processor` and leaves it free to go on. Returns false where its mask has no
/// such processor.
bool visit_processor(int processor);

/// Whole processors that the quotas of a cgroup and its parents allow (at least 1), or 0 when there is none.
/// `cgroup_root` is where the hierarchies are mounted ("/sys/fs/cgroup"), `memberships` the text of
/// /proc/self/cgroup; versions 1 and 2.
int processors_in_quota(const std::string& cgroup_root, const std::string& memberships);

}  // namespace tasuki::local

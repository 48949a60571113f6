// Which processors each rank may run on: reading the machine's cores, and a pure plan over them.
#pragma once

#include <string>
#include <vector>

namespace tasuki::launch {

/// Which processors a rank may run on. kShare: its equal part of the cores, so that as many ranks as cores
/// get one each, and fewer ranks leave room for their threads.
enum class BindTo { kShare, kNone, kHwthread, kCore, kNuma, kSocket };

/// In which order ranks are dealt to cores: one after the other, or round robin among sockets or NUMA nodes.
enum class MapBy { kCore, kNuma, kSocket };

/// A core with those of its processors (hardware threads) that this job may use.
struct Core {
  std::vector<int> processors;  // numbers as the kernel counts them
  int socket = 0;               // its first processor; likewise the NUMA node's
  int numa = 0;
};

/// The cores that mpiexec's affinity mask leaves, neighbours next to each other. Where /sys does not tell,
/// every processor counts as a core of its own.
std::vector<Core> read_cores();

/// The same for a mask, its processors ascending, and for another root than "/sys/devices/system".
std::vector<Core> read_cores(const std::vector<int>& mask, const std::string& root);

struct BindingPlan {
  std::vector<std::vector<int>> processors;  // of each rank; empty when no rank is bound
  std::string reason;                        // why no rank is bound
};

/// REQUIRES: ranks > 0. `available` is the number of processors that may really be used (mask and quota).
BindingPlan plan_bindings(const std::vector<Core>& cores, int ranks, int available, BindTo bind_to,
                          MapBy map_by);

/// Whether a plan, or its report, needs to know the cores at all; reading them takes longer than starting a
/// rank.
bool needs_cores(int ranks, int available, BindTo bind_to, bool report);

/// "0-3,8"
std::string processor_list(const std::vector<int>& processors);

}  // namespace tasuki::launch

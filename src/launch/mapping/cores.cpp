// Reading the machine's cores from Linux' /sys.
#include <array>
#include <map>
#include <string>
#include <utility>

#include "launch/mapping/processor_binding.hpp"
#include "node/hardware.hpp"
#include "node/processors.hpp"

namespace tasuki::launch {

std::vector<Core> read_cores() {
  return read_cores(local::affinity_mask(), "/sys/devices/system");
}

std::vector<Core> read_cores(const std::vector<int>& mask, const std::string& root) {
  std::map<std::array<int, 3>, Core> cores;  // by socket, NUMA node, and the core's first processor
  for (const int processor : mask) {
    const HardwarePlace place = hardware_place(std::to_string(processor), root);
    const auto first = [&](HardwareLevel level, int unknown) {
      const int found = place[static_cast<std::size_t>(level)];
      return found >= 0 ? found : unknown;
    };
    const int socket = first(HardwareLevel::kPackage, 0);
    const int numa = first(HardwareLevel::kNumaNode, 0);
    Core& core = cores[{socket, numa, first(HardwareLevel::kCore, processor)}];
    core.processors.push_back(processor);
    core.socket = socket;
    core.numa = numa;
  }
  std::vector<Core> all;
  for (auto& [place, core] : cores) all.push_back(std::move(core));
  return all;
}

}  // namespace tasuki::launch

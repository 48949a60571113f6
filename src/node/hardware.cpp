// Reads the machine's shape from /sys/devices/system (Linux:
// Documentation/ABI/stable/sysfs-devices-system-cpu).
#include "node/hardware.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace tasuki {
namespace {

constexpr std::array<std::string_view, kHardwareLevels> kNames = {
    "hwloc://Machine", "hwloc://Package", "hwloc://NUMANode", "hwloc://L3Cache",
    "hwloc://L2Cache", "hwloc://L1Cache", "hwloc://Core",     "hwloc://PU",
};
constexpr int kProcessorsMax = 1 << 16;  // a limit for what a damaged file may say
constexpr int kIndexMax = 64;            // caches of a processor, NUMA nodes tried

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The processors of a list like "0-3,8", ascending; empty when it is not one.
Processors parse_processors(const std::string& list) {
  Processors processors;
  const char* at = list.c_str();
  while (*at >= '0' && *at <= '9') {
    char* end = nullptr;
    const long first = std::strtol(at, &end, 10);
    long last = first;
    if (*end == '-') last = std::strtol(end + 1, &end, 10);
    if (last >= kProcessorsMax || first > last) return {};
    for (long processor = first; processor <= last; ++processor)
      processors.push_back(static_cast<int>(processor));
    at = *end == ',' ? end + 1 : end;
  }
  return processors;
}

/// The file with the list of processors that share `level` with the one in `directory`, or an empty list.
std::string processors_of(HardwareLevel level, const std::string& directory, const std::string& root) {
  switch (level) {
    case HardwareLevel::kPackage: {
      const std::string list = first_line(directory + "/topology/package_cpus_list");
      return list.empty() ? first_line(directory + "/topology/core_siblings_list") : list;
    }
    case HardwareLevel::kCore: {
      const std::string list = first_line(directory + "/topology/core_cpus_list");
      return list.empty() ? first_line(directory + "/topology/thread_siblings_list") : list;
    }
    case HardwareLevel::kNumaNode:
      for (const int node : parse_processors(first_line(root + "/node/has_cpu"))) {
        const std::string name = "node" + std::to_string(node);
        if (access((directory + "/" + name).c_str(), F_OK) == 0)
          return first_line(root + "/node/" + name + "/cpulist");
      }
      return {};
    case HardwareLevel::kL3Cache:
    case HardwareLevel::kL2Cache:
    case HardwareLevel::kL1Cache: {
      const std::string wanted = level == HardwareLevel::kL3Cache   ? "3"
                                 : level == HardwareLevel::kL2Cache ? "2"
                                                                    : "1";
      for (int index = 0; index < kIndexMax; ++index) {
        const std::string cache = directory + "/cache/index" + std::to_string(index);
        const std::string found = first_line(cache + "/level");
        if (found.empty()) return {};
        if (found == wanted && first_line(cache + "/type") != "Instruction")
          return first_line(cache + "/shared_cpu_list");
      }
      return {};
    }
    default:
      return {};
  }
}

bool is_within(const Processors& part, const Processors& whole) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

HardwarePlace place_of(const Processors& mine, const std::string& root) {
  HardwarePlace place;
  place.fill(-1);
  place[static_cast<std::size_t>(HardwareLevel::kMachine)] = 0;
  if (mine.empty()) return place;
  const std::string directory = root + "/cpu/cpu" + std::to_string(mine.front());
  for (int level = 1; level < kHardwareLevels; ++level) {
    const Processors all =
        static_cast<HardwareLevel>(level) == HardwareLevel::kPu
            ? Processors{mine.front()}
            : parse_processors(processors_of(static_cast<HardwareLevel>(level), directory, root));
    if (is_within(mine, all)) place[static_cast<std::size_t>(level)] = all.front();
  }
  return place;
}

constexpr const char* kSystem = "/sys/devices/system";

}  // namespace

Processors allowed_processors(int process) {
  constexpr std::size_t kSets = kProcessorsMax / CPU_SETSIZE;
  std::vector<cpu_set_t> allowed(kSets);
  const std::size_t bytes = sizeof(cpu_set_t) * kSets;
  if (sched_getaffinity(process, bytes, allowed.data()) != 0) return {};
  Processors processors;
  const auto count = static_cast<std::size_t>(CPU_COUNT_S(bytes, allowed.data()));
  for (int processor = 0; processors.size() < count; ++processor) {
    if (CPU_ISSET_S(static_cast<std::size_t>(processor), bytes, allowed.data()))
      processors.push_back(processor);
  }
  return processors;
}

std::string_view hardware_name(HardwareLevel level) {
  return kNames[static_cast<std::size_t>(level)];
}

int hardware_level(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  return found == kNames.end() ? -1 : static_cast<int>(found - kNames.begin());
}

HardwarePlace hardware_place() {
  return place_of(allowed_processors(0), kSystem);
}

HardwarePlace hardware_place(const std::string& processors, const std::string& root) {
  return place_of(parse_processors(processors), root);
}

HardwareSurroundings hardware_surroundings() {
  return hardware_surroundings(allowed_processors(0), kSystem);
}

HardwareSurroundings hardware_surroundings(const Processors& processors, const std::string& root) {
  HardwareSurroundings around;
  around.machine = parse_processors(first_line(root + "/cpu/online"));
  const Processors& mine = processors.empty() ? around.machine : processors;
  if (mine.empty()) return around;
  const std::string directory = root + "/cpu/cpu" + std::to_string(mine.front());
  around.package = parse_processors(processors_of(HardwareLevel::kPackage, directory, root));
  for (const HardwareLevel level : {HardwareLevel::kL3Cache, HardwareLevel::kL2Cache}) {
    around.cache = parse_processors(processors_of(level, directory, root));
    if (!around.cache.empty()) break;
  }
  around.known = !around.cache.empty() || !around.package.empty();
  if (!is_within(mine, around.cache)) around.cache.clear();
  if (!is_within(mine, around.package)) around.package.clear();
  return around;
}

Distance HardwareSurroundings::distance_to(const Processors& other) const {
  if (!known) return Distance::kCache;
  const Processors& theirs = other.empty() ? machine : other;
  const auto holds = [&](const Processors& piece) { return !piece.empty() && is_within(theirs, piece); };
  if (!theirs.empty() && holds(cache)) return Distance::kCache;
  return !theirs.empty() && holds(package) ? Distance::kPackage : Distance::kMachine;
}

}  // namespace tasuki

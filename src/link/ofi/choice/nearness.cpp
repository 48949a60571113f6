// Reads what /sys says of cards and memory nodes (Linux: Documentation/ABI/testing/sysfs-bus-pci,
// Documentation/ABI/stable/sysfs-devices-node).
#include "link/ofi/choice/nearness.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tasuki::ofi {
namespace {

constexpr int kNodesMax = 1024;  // a limit for what a damaged file may say

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Whether any of `processors` is in a list like "0-3,8".
bool has_any(const std::string& list, const std::vector<int>& processors) {
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    char* end = nullptr;
    const long first = std::strtol(part.c_str(), &end, 10);
    if (end == part.c_str()) return false;
    const long last = *end == '-' ? std::strtol(end + 1, nullptr, 10) : first;
    const auto is_in = [&](int processor) { return first <= processor && processor <= last; };
    if (std::any_of(processors.begin(), processors.end(), is_in)) return true;
  }
  return false;
}

}  // namespace

int nearness(const std::string& sys, const std::string& address, const std::vector<int>& processors) {
  const std::string node = first_line(sys + "/bus/pci/devices/" + address + "/numa_node");
  if (node.empty() || node[0] == '-') return kNearnessUnknown;  // -1: the system does not know
  const std::string nodes = sys + "/devices/system/node/node";
  std::istringstream distances(first_line(nodes + node + "/distance"));
  int least = kNearnessUnknown;
  int distance = 0;
  for (int other = 0; other < kNodesMax && distances >> distance; ++other) {
    if (distance >= least) continue;
    if (has_any(first_line(nodes + std::to_string(other) + "/cpulist"), processors)) least = distance;
  }
  return least;
}

std::vector<int> own_processors() {
  std::vector<int> processors;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &set)) processors.push_back(processor);
  }
  return processors;
}

}  // namespace tasuki::ofi

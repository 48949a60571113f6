// Where this process may run: the pieces of hardware (package, NUMA node, caches, core) that hold all the
// processors it is bound to. Read from Linux' /sys, so that libmpi needs no library for it.
//
// Pure functions of files and of the calling thread's affinity; thread safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/distance.hpp"

namespace tasuki {

/// The levels of a machine, from the largest to the smallest.
enum class HardwareLevel : int {
  kMachine = 0,
  kPackage,
  kNumaNode,
  kL3Cache,
  kL2Cache,
  kL1Cache,
  kCore,
  kPu,
};
inline constexpr int kHardwareLevels = 8;

/// The name of a level as the info key mpi_hw_resource_type has it: "hwloc://NUMANode" (the types of hwloc).
std::string_view hardware_name(HardwareLevel level);
/// The level of that name, or -1.
int hardware_level(std::string_view name);

/// By level: which instance of it holds all the processors that this thread may run on, as the number of its
/// first processor; -1 where more than one instance does, or the system does not tell.
using HardwarePlace = std::array<std::int32_t, kHardwareLevels>;
HardwarePlace hardware_place();

/// The same for a list of processors ("0-3,8", as in /sys) and another root than "/sys/devices/system".
HardwarePlace hardware_place(const std::string& processors, const std::string& root);

/// Numbers of processors, ascending.
using Processors = std::vector<int>;

/// Where the process of that number may run (that of its first thread), or this thread (0); empty: unknown.
Processors allowed_processors(int process);

/// What is around a set of processors, so that its distance to many others follows without another look.
struct HardwareSurroundings {
  Processors cache;    // those that share the last-level cache; empty where several caches do, or none
  Processors package;  // those of the socket, likewise
  Processors machine;  // all that are online
  bool known = false;  // the system reports sockets or caches

  /// The closest that holds for every processor of either set: no set means that it may run anywhere. Where
  /// the system tells nothing, the machine counts as one piece.
  Distance distance_to(const Processors& other) const;
};
HardwareSurroundings hardware_surroundings();

/// The same for a set of processors (none: all), and for another root than "/sys/devices/system".
HardwareSurroundings hardware_surroundings(const Processors& processors, const std::string& root);

}  // namespace tasuki

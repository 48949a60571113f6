// Where this process may run: the pieces of hardware (package, NUMA node, caches, core) that hold all the
// processors it is bound to. Read from Linux' /sys, so that libmpi needs no library for it.
//
// Pure functions of files and of the calling thread's affinity; thread safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

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

/// A number of this machine, the same for all its processes since it was booted.
std::uint64_t machine_number();

}  // namespace tasuki

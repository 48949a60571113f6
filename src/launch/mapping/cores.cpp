// Reading the machine's cores by hwloc, where it was there at build time.
#include <cstdlib>
#include <string>

#include "launch/mapping/processor_binding.hpp"
#include "node/processors.hpp"

#ifdef TASUKI_HAVE_HWLOC
#include <hwloc.h>
#endif

namespace tasuki::launch {
namespace {

[[maybe_unused]] std::vector<Core> each_processor_a_core(const std::vector<int>& mask) {
  std::vector<Core> cores;
  for (const int processor : mask) cores.push_back({{processor}, 0, 0});
  return cores;
}

#ifdef TASUKI_HAVE_HWLOC

int first_or_zero(hwloc_const_bitmap_t set) {
  const int first = set != nullptr ? hwloc_bitmap_first(set) : -1;
  return first >= 0 ? first : 0;
}

/// Keeps hwloc from loading its plugins (XML, OpenCL, X11, PCI with all their libraries: milliseconds for
/// what is not asked) while this lives. The ranks find the variable as it was: their environment is made by
/// then.
class NoPlugins {
 public:
  NoPlugins() {
    const char* before = std::getenv(kName);
    was_set_ = before != nullptr;
    if (was_set_) before_ = before;
    setenv(kName, "/dev/null", 1);
  }
  ~NoPlugins() {
    if (was_set_) {
      setenv(kName, before_.c_str(), 1);
    } else {
      unsetenv(kName);
    }
  }

 private:
  static constexpr const char* kName = "HWLOC_PLUGINS_PATH";
  bool was_set_ = false;
  std::string before_;
};

/// Only what is needed, and only from the kernel: asking each processor (the "x86" component) takes many
/// times as long, and devices seconds on large machines.
hwloc_topology_t load_topology() {
  const NoPlugins no_plugins;
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return nullptr;
  hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  if (hwloc_topology_load(topology) == 0) return topology;
  hwloc_topology_destroy(topology);
  return nullptr;
}

std::vector<Core> cores_of(hwloc_topology_t topology, const std::vector<int>& mask) {
  std::vector<Core> cores;
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, object)) != nullptr;) {
    Core core;
    for (const int processor : mask) {
      if (hwloc_bitmap_isset(object->cpuset, static_cast<unsigned>(processor)) != 0) {
        core.processors.push_back(processor);
      }
    }
    if (core.processors.empty()) continue;
    const hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, object);
    core.socket = package != nullptr ? static_cast<int>(package->logical_index) : 0;
    core.numa = first_or_zero(object->nodeset);
    cores.push_back(std::move(core));
  }
  return cores;
}

#endif

}  // namespace

std::vector<Core> read_cores() {
  const std::vector<int> mask = local::affinity_mask();
#ifdef TASUKI_HAVE_HWLOC
  if (const hwloc_topology_t topology = load_topology()) {
    std::vector<Core> cores = cores_of(topology, mask);
    hwloc_topology_destroy(topology);
    if (!cores.empty()) return cores;
  }
#endif
  return each_processor_a_core(mask);
}

}  // namespace tasuki::launch

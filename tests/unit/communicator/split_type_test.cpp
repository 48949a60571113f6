// Shows that the places of a process in a machine are read right from a made-up /sys, and that
// MPI_Comm_split_type divides by them.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "communicator/api.hpp"
#include "environment/api.hpp"
#include "node/hardware.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

using test::run_ranks;
namespace fs = std::filesystem;

constexpr int kShared = 221;
constexpr int kUnguided = 222;
constexpr int kGuided = 223;
constexpr int kResourceGuided = 224;

/// Two packages, each a NUMA node of two cores with two threads; an L3 cache per package, an L2 per core.
class FakeMachine {
 public:
  FakeMachine() {
    std::string pattern = (fs::temp_directory_path() / "tasuki_sysXXXXXX").string();
    root_ = mkdtemp(pattern.data());
    write("node/has_cpu", "0-1");
    for (int cpu = 0; cpu < 8; ++cpu) {
      const int package = cpu / 4;
      const std::string whole = std::to_string(package * 4) + "-" + std::to_string(package * 4 + 3);
      const std::string core = std::to_string(cpu / 2 * 2) + "," + std::to_string(cpu / 2 * 2 + 1);
      const std::string directory = "cpu/cpu" + std::to_string(cpu) + "/";
      write(directory + "topology/package_cpus_list", whole);
      write(directory + "topology/thread_siblings_list", core);  // the older name
      write(directory + "node" + std::to_string(package) + "/cpulist", whole);
      write("node/node" + std::to_string(package) + "/cpulist", whole);
      cache(directory, 0, "1", "Data", core);
      cache(directory, 1, "1", "Instruction", std::to_string(cpu));
      cache(directory, 2, "2", "Unified", core);
      cache(directory, 3, "3", "Unified", whole);
    }
  }
  ~FakeMachine() { fs::remove_all(root_); }
  const std::string& root() const { return root_; }

 private:
  void cache(const std::string& directory, int index, const char* level, const char* type,
             const std::string& shared) {
    const std::string place = directory + "cache/index" + std::to_string(index) + "/";
    write(place + "level", level);
    write(place + "type", type);
    write(place + "shared_cpu_list", shared);
  }
  void write(const std::string& name, const std::string& text) {
    const fs::path path = fs::path(root_) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }

  std::string root_;
};

TEST(Hardware, PlacesByAffinity) {
  const FakeMachine machine;
  // Order: Machine, Package, NUMANode, L3, L2, L1, Core, PU.
  EXPECT_EQ(hardware_place("5", machine.root()), (HardwarePlace{0, 4, 4, 4, 4, 4, 4, 5}));
  EXPECT_EQ(hardware_place("2-3", machine.root()), (HardwarePlace{0, 0, 0, 0, 2, 2, 2, -1}));
  EXPECT_EQ(hardware_place("1,2", machine.root()), (HardwarePlace{0, 0, 0, 0, -1, -1, -1, -1}));
  EXPECT_EQ(hardware_place("0-7", machine.root()), (HardwarePlace{0, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(hardware_place("", machine.root()), (HardwarePlace{0, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(hardware_place("1", "/nowhere"), (HardwarePlace{0, -1, -1, -1, -1, -1, -1, 1}));
}

TEST(Hardware, NamesAreThoseOfHwloc) {
  for (int level = 0; level < kHardwareLevels; ++level)
    EXPECT_EQ(hardware_level(hardware_name(static_cast<HardwareLevel>(level))), level);
  EXPECT_EQ(hardware_level("hwloc://NUMANode"), 2);
  EXPECT_EQ(hardware_level("NUMANode"), -1);
}

Info* make_info(Process& process, const char* key, const char* value) {
  Info* info = nullptr;
  EXPECT_EQ(api::info_create(process, &info), kSuccess);
  EXPECT_EQ(api::info_set(process, info, key, value), kSuccess);
  return info;
}

TEST(SplitType, SharedMemory) {
  run_ranks(4, [](Process& process) {
    Comm* world = process.objects->world;
    Comm* node = nullptr;
    ASSERT_EQ(api::comm_split_type(process, world, kShared, -process.rank, nullptr, &node), kSuccess);
    EXPECT_EQ(node->group->endpoints, (std::vector<int>{3, 2, 1, 0}));
    api::comm_free(process, &node);
    // Some ask for nothing.
    const int type = process.rank < 2 ? kShared : kUndefined;
    ASSERT_EQ(api::comm_split_type(process, world, type, 0, nullptr, &node), kSuccess);
    EXPECT_EQ(node != nullptr, process.rank < 2);
    if (node != nullptr) {
      EXPECT_EQ(node->size(), 2);
      api::comm_free(process, &node);
    }
    // A wrong type on one rank hangs no other.
    const Code code =
        api::comm_split_type(process, world, process.rank == 0 ? 99 : kShared, 0, nullptr, &node);
    EXPECT_EQ(error_class_bits(code), process.rank == 0 ? kErrArg : kSuccess);
    if (node != nullptr) api::comm_free(process, &node);
  });
}

TEST(SplitType, GuidedByNames) {
  run_ranks(2, [](Process& process) {
    Comm* world = process.objects->world;
    struct Case {
      int type;
      const char* key;
      const char* value;
      int size;  // 0: MPI_COMM_NULL
    };
    const Case cases[] = {
        {kGuided, "mpi_hw_resource_type", "mpi_shared_memory", 2},
        {kGuided, "mpi_hw_resource_type", "hwloc://Machine", 2},
        {kGuided, "mpi_hw_resource_type", "hwloc://Abacus", 0},
        {kGuided, "mpi_pset_name", "mpi://WORLD", 0},  // a process set is no hardware
        {kGuided, "colour", "red", 0},
        {kResourceGuided, "mpi_hw_resource_type", "mpi_shared_memory", 2},
        {kResourceGuided, "mpi_pset_name", "mpi://WORLD", 2},
        {kResourceGuided, "mpi_pset_name", "mpi://SELF", 1},
        {kResourceGuided, "mpi_pset_name", "mine", 0},
    };
    for (const Case& one : cases) {
      Info* info = make_info(process, one.key, one.value);
      Comm* made = nullptr;
      ASSERT_EQ(api::comm_split_type(process, world, one.type, 0, info, &made), kSuccess);
      EXPECT_EQ(made == nullptr ? 0 : made->size(), one.size) << one.key << " = " << one.value;
      if (made != nullptr) api::comm_free(process, &made);
      api::info_free(process, &info);
    }
    Comm* made = nullptr;
    ASSERT_EQ(api::comm_split_type(process, world, kGuided, 0, nullptr, &made), kSuccess);
    EXPECT_EQ(made, nullptr);
  });
}

TEST(SplitType, ResourceInfoSaysWhereThisProcessIsConfined) {
  run_ranks(1, [](Process& process) {
    Info* info = nullptr;
    ASSERT_EQ(api::get_hw_resource_info(process, &info), kSuccess);
    EXPECT_EQ(info->entries.size(), static_cast<std::size_t>(kHardwareLevels) + 1);
    const HardwarePlace place = hardware_place();
    for (const auto& [name, value] : info->entries) {
      const int level = hardware_level(name);
      const bool confined =
          level < 0 ? name == "mpi_shared_memory" : place[static_cast<std::size_t>(level)] >= 0;
      EXPECT_EQ(value, confined ? "true" : "false") << name;
    }
    api::info_free(process, &info);
  });
}

TEST(SplitType, UnguidedDividesBoundRanksUntilTheyAreApart) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  std::vector<int> processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &allowed)) processors.push_back(processor);
  }
  if (processors.size() < 2) GTEST_SKIP() << "one processor only: ranks cannot be bound apart";
  run_ranks(4, [&processors](Process& process) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processors[static_cast<std::size_t>(process.rank % 2)], &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    Comm* parent = process.objects->world;
    std::vector<Comm*> levels;
    while (true) {
      Info* info = make_info(process, "colour", "red");
      Comm* made = nullptr;
      ASSERT_EQ(api::comm_split_type(process, parent, kUnguided, parent->rank, info, &made), kSuccess);
      const std::string* resource = find_info(info, "mpi_hw_resource_type");
      EXPECT_EQ(resource != nullptr, made != nullptr);
      if (resource != nullptr) EXPECT_GE(hardware_level(*resource), 0) << *resource;
      api::info_free(process, &info);
      if (made == nullptr) break;
      EXPECT_LT(made->size(), parent->size());
      levels.push_back(made);
      parent = made;
    }
    // At the end, the ranks that share a processor are together.
    ASSERT_FALSE(levels.empty());
    EXPECT_EQ(parent->group->endpoints, (std::vector<int>{process.rank % 2, process.rank % 2 + 2}));
    for (Comm* comm : levels) api::comm_free(process, &comm);
  });
}

}  // namespace
}  // namespace tasuki

// Which rank is bound where, on machines that this one is not.
#include "launch/mapping/processor_binding.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tasuki::launch {
namespace {

using Plan = std::vector<std::vector<int>>;

/// `threads` processors per core, numbered as Linux does: all first threads, then all second ones.
std::vector<Core> machine(int sockets, int cores_per_socket, int threads) {
  std::vector<Core> cores;
  const int all = sockets * cores_per_socket;
  for (int core = 0; core < all; ++core) {
    Core made;
    for (int thread = 0; thread < threads; ++thread) made.processors.push_back(core + thread * all);
    made.socket = made.numa = core / cores_per_socket;
    cores.push_back(made);
  }
  return cores;
}

Plan plan(const std::vector<Core>& cores, int ranks, BindTo bind_to, MapBy map_by = MapBy::kCore) {
  int processors = 0;
  for (const Core& core : cores) processors += static_cast<int>(core.processors.size());
  return plan_bindings(cores, ranks, processors, bind_to, map_by).processors;
}

TEST(Binding, AsManyRanksAsCoresGetOneEach) {
  EXPECT_EQ(plan(machine(1, 4, 1), 4, BindTo::kShare), (Plan{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(plan(machine(1, 2, 2), 2, BindTo::kShare), (Plan{{0, 2}, {1, 3}}));
}

TEST(Binding, FewerRanksShareTheCoresEqually) {
  EXPECT_EQ(plan(machine(1, 4, 1), 2, BindTo::kShare), (Plan{{0, 1}, {2, 3}}));
  EXPECT_EQ(plan(machine(1, 5, 1), 2, BindTo::kShare), (Plan{{0, 1}, {2, 3, 4}}));
  EXPECT_EQ(plan(machine(2, 2, 1), 1, BindTo::kShare), (Plan{{0, 1, 2, 3}}));
}

TEST(Binding, MoreRanksThanCoresShareHardwareThreads) {
  EXPECT_EQ(plan(machine(1, 2, 2), 4, BindTo::kShare), (Plan{{0}, {2}, {1}, {3}}));
  EXPECT_EQ(plan(machine(1, 2, 2), 3, BindTo::kShare), (Plan{{0}, {2}, {1, 3}}));
}

TEST(Binding, NobodyIsBoundWithMoreRanksThanProcessors) {
  const BindingPlan over = plan_bindings(machine(1, 2, 1), 3, 2, BindTo::kCore, MapBy::kCore);
  EXPECT_TRUE(over.processors.empty());
  EXPECT_EQ(over.reason, "3 ranks, 2 processors available");
  // A quota counts like missing processors.
  EXPECT_TRUE(plan_bindings(machine(1, 8, 1), 4, 2, BindTo::kShare, MapBy::kCore).processors.empty());
  EXPECT_TRUE(plan(machine(1, 8, 1), 4, BindTo::kNone).empty());
}

TEST(Binding, ToCoreHwthreadSocket) {
  EXPECT_EQ(plan(machine(1, 4, 2), 2, BindTo::kCore), (Plan{{0, 4}, {1, 5}}));
  EXPECT_EQ(plan(machine(1, 4, 2), 2, BindTo::kHwthread), (Plan{{0}, {4}}));
  EXPECT_EQ(plan(machine(2, 2, 1), 2, BindTo::kSocket), (Plan{{0, 1}, {2, 3}}));
  EXPECT_EQ(plan(machine(2, 2, 1), 4, BindTo::kNuma), (Plan{{0, 1}, {0, 1}, {2, 3}, {2, 3}}));
}

TEST(Binding, MapBySocketDealsRoundRobin) {
  EXPECT_EQ(plan(machine(2, 2, 1), 4, BindTo::kCore, MapBy::kSocket), (Plan{{0}, {2}, {1}, {3}}));
  EXPECT_EQ(plan(machine(2, 2, 1), 3, BindTo::kShare, MapBy::kSocket), (Plan{{0}, {2, 3}, {1}}));
}

TEST(Binding, MapByIsRefusedWhereASocketOverflows) {
  std::vector<Core> uneven = machine(1, 3, 1);
  uneven[2].socket = 1;
  EXPECT_TRUE(plan(uneven, 3, BindTo::kCore, MapBy::kSocket) == (Plan{{0}, {2}, {1}}));
  uneven.push_back({{3}, 0, 0});
  EXPECT_TRUE(plan(uneven, 4, BindTo::kCore, MapBy::kSocket).empty());
}

TEST(Binding, SharesNeverOverlapAndLeaveNothing) {
  for (int cores = 1; cores <= 9; ++cores) {
    for (int threads = 1; threads <= 2; ++threads) {
      for (int ranks = 1; ranks <= cores * threads; ++ranks) {
        std::vector<int> used;
        for (const auto& part : plan(machine(1, cores, threads), ranks, BindTo::kShare)) {
          EXPECT_FALSE(part.empty());
          used.insert(used.end(), part.begin(), part.end());
        }
        std::sort(used.begin(), used.end());
        ASSERT_EQ(used.size(), static_cast<std::size_t>(cores * threads))
            << cores << " " << threads << " " << ranks;
        EXPECT_EQ(std::adjacent_find(used.begin(), used.end()), used.end());
      }
    }
  }
}

TEST(Binding, ThisMachineHasCores) {
  EXPECT_FALSE(read_cores().empty());
}

/// Two sockets, each a NUMA node, of two cores with two threads, numbered as Linux does.
TEST(Binding, CoresAreReadFromSys) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(testing::TempDir()) / ("tasuki_cores" + std::to_string(getpid()));
  const auto write = [&](const std::string& name, const std::string& text) {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text << "\n";
  };
  write("node/has_cpu", "0-1");
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string directory = "cpu/cpu" + std::to_string(cpu) + "/";
    const int socket = cpu % 4 / 2;
    const std::string all = socket == 0 ? "0-1,4-5" : "2-3,6-7";
    write(directory + "topology/package_cpus_list", all);
    write(directory + "topology/core_cpus_list", std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4));
    write(directory + "node" + std::to_string(socket) + "/cpulist", all);
    write("node/node" + std::to_string(socket) + "/cpulist", all);
  }
  const auto told = [&](const std::vector<int>& mask) {
    std::vector<std::vector<int>> cores;
    for (const Core& core : read_cores(mask, root)) {
      cores.push_back(core.processors);
      EXPECT_EQ(core.socket, core.processors.front() % 4 < 2 ? 0 : 2);
      EXPECT_EQ(core.numa, core.socket);
    }
    return cores;
  };
  EXPECT_EQ(told({0, 1, 2, 3, 4, 5, 6, 7}), (Plan{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(told({1, 4, 6, 7}), (Plan{{4}, {1}, {6}, {7}}));
  std::vector<std::vector<int>> alone;
  for (const Core& core : read_cores({3, 5}, "/nowhere")) alone.push_back(core.processors);
  EXPECT_EQ(alone, (Plan{{3}, {5}})) << "where /sys does not tell";
  fs::remove_all(root);
}

TEST(ProcessorList, Ranges) {
  EXPECT_EQ(processor_list({0}), "0");
  EXPECT_EQ(processor_list({3, 1, 2, 8}), "1-3,8");
}

}  // namespace
}  // namespace tasuki::launch

// Which rank is bound where, on machines that this one is not.
#include "launch/mapping/processor_binding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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

TEST(ProcessorList, Ranges) {
  EXPECT_EQ(processor_list({0}), "0");
  EXPECT_EQ(processor_list({3, 1, 2, 8}), "1-3,8");
}

}  // namespace
}  // namespace tasuki::launch

// The tables of settings, counters and events are whole and agree with one another and with the algorithms;
// the handles of MPI_T run out with an error, and stale ones are told.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "coll/algorithms.hpp"
#include "support/world.hpp"
#include "tool/api.hpp"
#include "tool/tool.hpp"

namespace tasuki {
namespace {

template <class Rows>
void expect_whole(const Rows& rows) {
  std::set<std::string> names;
  for (const auto& row : rows) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " twice";
    EXPECT_NE(std::string(row.description), "") << row.name;
    EXPECT_LT(static_cast<int>(row.part), kParts) << row.name;
  }
}

TEST(Tables, NamesAreUniqueAndDescribed) {
  expect_whole(settings());
  expect_whole(counter_table());
  expect_whole(event_table());
}

TEST(Tables, EveryAlgorithmHasItsNameItsSettingAndItsCounter) {
  const struct {
    const char* operation;
    AlgorithmIndex first;
    int algorithms;
    int last;  // in the enum
  } operations[] = {
      {"allgather", kAllgatherFirst, 3, static_cast<int>(AllgatherAlgorithm::kRing)},
      {"allreduce", kAllreduceFirst, 3, static_cast<int>(AllreduceAlgorithm::kRing)},
      {"alltoall", kAlltoallFirst, 3, static_cast<int>(AlltoallAlgorithm::kBruck)},
      {"bcast", kBcastFirst, 2, static_cast<int>(BcastAlgorithm::kScatterRing)},
      {"gather", kGatherFirst, 2, static_cast<int>(GatherAlgorithm::kBinomial)},
      {"reduce", kReduceFirst, 2, static_cast<int>(ReduceAlgorithm::kHalving)},
      {"reduce_scatter", kReduceScatterFirst, 3,
       static_cast<int>(ReduceScatterAlgorithm::kRecursiveDoubling)},
      {"scatter", kScatterFirst, 2, static_cast<int>(ScatterAlgorithm::kBinomial)},
  };
  for (const auto& [operation, first, algorithms, last] : operations) {
    EXPECT_EQ(last, algorithms - 1) << operation;
    const EnumRow* choices = nullptr;
    for (const Setting& setting : settings()) {
      std::string name = "TASUKI_" + std::string(operation) + "_ALGORITHM";
      for (char& one : name) one = static_cast<char>(std::toupper(static_cast<unsigned char>(one)));
      if (name == setting.name) choices = setting.choices;
    }
    ASSERT_NE(choices, nullptr) << operation;
    ASSERT_EQ(choices->size, algorithms + 1) << operation;
    for (int algorithm = 0; algorithm < algorithms; ++algorithm) {
      const std::string name = std::string(operation) + "_" + choices->items[algorithm + 1];
      bool found = false;
      for (const CounterRow& row : counter_table()) {
        if (name != row.name) continue;
        found = true;
        EXPECT_EQ(row.offset, offsetof(Counters, algorithms) +
                                  sizeof(std::uint64_t) * static_cast<std::size_t>(first + algorithm));
      }
      EXPECT_TRUE(found) << name;
    }
  }
}

TEST(Tables, AWantedAlgorithmIsTakenWhereItIsPossible) {
  CostParameters parameters;
  parameters.wanted.allreduce_algorithm = 1 + static_cast<int>(AllreduceAlgorithm::kRing);
  parameters.wanted.allgather_algorithm = 1 + static_cast<int>(AllgatherAlgorithm::kRecursiveDoubling);
  EXPECT_EQ(choose_allreduce(4, 8, true, parameters), AllreduceAlgorithm::kRing);
  EXPECT_EQ(choose_allreduce(4, 8, false, parameters), AllreduceAlgorithm::kRecursiveDoubling);
  EXPECT_EQ(choose_allgather(4, 1 << 20, true, parameters), AllgatherAlgorithm::kRecursiveDoubling);
  EXPECT_EQ(choose_allgather(3, 8, true, parameters), AllgatherAlgorithm::kBruck);
}

TEST(Tool, HandlesAndSessionsRunOutWithAnError) {
  test::run_ranks(1, [](Process& process) {
    Tool tool;
    process.tool = &tool;
    int provided = 0;
    ASSERT_EQ(api::t_init_thread(process, 0, &provided), kSuccess);
    ToolHandle handle = 0;
    ToolHandle first = 0;
    int count = 0;
    Code code = kSuccess;
    int made = 0;
    for (; code == kSuccess; ++made) {
      code = api::t_cvar_handle_alloc(process, 0, &handle, &count);
      if (made == 0) first = handle;
    }
    EXPECT_EQ(code, kTErrOutOfHandles);
    EXPECT_GT(made, 10000);
    const ToolHandle stale = first;
    EXPECT_EQ(api::t_cvar_handle_free(process, &first), kSuccess);
    EXPECT_EQ(api::t_cvar_handle_alloc(process, 0, &handle, &count), kSuccess);
    std::uint64_t value = 0;
    EXPECT_EQ(api::t_cvar_read(process, stale, &value), kTErrInvalidHandle);
    EXPECT_EQ(api::t_cvar_read(process, handle, &value), kSuccess);
    for (code = kSuccess; code == kSuccess;) code = api::t_pvar_session_create(process, &handle);
    EXPECT_EQ(code, kTErrOutOfSessions);
    EXPECT_EQ(api::t_finalize(process), kSuccess);
    EXPECT_EQ(tool.initialized, 0);
    process.tool = nullptr;
  });
}

}  // namespace
}  // namespace tasuki

// The tables of settings, counters and events are whole and agree with one another and with the algorithms;
// the handles of MPI_T run out with an error, and stale ones are told.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/error.hpp"
#include "base/variables/collective_operations.hpp"
#include "base/variables/settings.hpp"
#include "coll/choice/registry.hpp"
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
  int number = 0;
  for (const OperationRow& operation : operation_table()) {
    const Setting* setting = nullptr;
    for (const Setting& one : settings()) {
      if (std::string(one.name) == operation.setting) setting = &one;
    }
    ASSERT_NE(setting, nullptr) << operation.setting;
    EXPECT_EQ(setting->value, operation.algorithm);
    const auto algorithms = algorithms_of(static_cast<Operation>(&operation - operation_table().data()));
    ASSERT_EQ(setting->choices->size, static_cast<int>(algorithms.size()) + 1) << operation.name;
    EXPECT_STREQ(setting->choices->items[0], "cheapest");
    for (const AlgorithmRow& row : algorithms) {
      EXPECT_STREQ(setting->choices->items[1 + (&row - algorithms.data())], row.name);
      const std::string name = std::string(operation.name) + "_" + row.name;
      const auto counter = std::find_if(counter_table().begin(), counter_table().end(),
                                        [&](const CounterRow& one) { return name == one.name; });
      ASSERT_NE(counter, counter_table().end()) << name;
      EXPECT_EQ(counter->offset,
                offsetof(Counters, algorithms) + sizeof(std::uint64_t) * static_cast<std::size_t>(number));
      EXPECT_EQ(candidate_of(number).algorithm, number);
      ++number;
    }
  }
  EXPECT_EQ(number, static_cast<int>(algorithm_table().size()));
}

TEST(Tables, WhatIsWrittenByMpiTFitsItsBits) {
  EXPECT_LE(settings().size(), 64U);
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

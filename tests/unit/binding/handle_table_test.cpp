// Handles: given out, found again, counted per use, and told from freed and foreign ones.
#include "binding/handles/handle_table.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

namespace tasuki {
namespace {

TEST(HandleTable, FindsWhatItGaveOut) {
  static HandleTable table;  // like the real one, it lives to the end of the program
  Object comm(Kind::kComm);
  const std::uint32_t value = table.acquire(&comm);
  EXPECT_NE(value, 0U);
  EXPECT_EQ(value & 0x80000000U, 0U);  // bit 31 belongs to the ABI
  EXPECT_GT(value, 4095U);             // below lie the standard ABI's predefined handles
  EXPECT_EQ(table.find(value, Kind::kComm), &comm);
  EXPECT_EQ(table.find(value, Kind::kGroup), nullptr);
  EXPECT_EQ(table.find(value + 1, Kind::kComm), nullptr);
}

TEST(HandleTable, CountsUses) {
  static HandleTable table;  // like the real one, it lives to the end of the program
  Object handler(Kind::kErrhandler);
  const std::uint32_t value = table.acquire(&handler);
  EXPECT_EQ(table.acquire(&handler), value);
  table.drop(value);
  EXPECT_EQ(table.find(value, Kind::kErrhandler), &handler);
  table.drop(value);
  EXPECT_EQ(table.find(value, Kind::kErrhandler), nullptr);
  table.drop(value);  // once more does no harm
  EXPECT_NE(table.acquire(&handler), value);
}

TEST(HandleTable, DetectsAFreedHandleWhoseSlotIsUsedAgain) {
  static HandleTable table;  // like the real one, it lives to the end of the program
  Object first(Kind::kRequest);
  Object second(Kind::kRequest);
  const std::uint32_t stale = table.acquire(&first);
  table.drop(stale);
  const std::uint32_t value = table.acquire(&second);
  EXPECT_EQ(value & HandleTable::kIndexMask, stale & HandleTable::kIndexMask);
  EXPECT_EQ(table.find(stale, Kind::kRequest), nullptr);
  EXPECT_EQ(table.find(value, Kind::kRequest), &second);
  table.drop(stale);  // leaves the new one alone
  EXPECT_EQ(table.find(value, Kind::kRequest), &second);
}

TEST(HandleTable, TellsEveryKindFromThePairTypesOfTheMpichAbi) {
  static HandleTable table;  // like the real one, it lives to the end of the program
  for (int kind = static_cast<int>(Kind::kComm); kind <= static_cast<int>(Kind::kFile); ++kind) {
    Object object(static_cast<Kind>(kind));
    for (int i = 0; i < 300; ++i) {  // all generations
      const std::uint32_t value = table.acquire(&object) | 0x80000000U;
      EXPECT_NE(value >> 24, 0x8cU);  // MPI_FLOAT_INT and its like
      table.drop(value & 0x7fffffffU);
    }
  }
}

TEST(HandleTable, HoldsAMillionAndThenRefuses) {
  static HandleTable table;  // like the real one, it lives to the end of the program
  constexpr std::size_t kMax = HandleTable::kIndexMask + 1;
  std::vector<std::unique_ptr<Object>> objects;
  std::set<std::uint32_t> values;
  for (std::size_t i = 0; i < kMax; ++i) {
    objects.push_back(std::make_unique<Object>(Kind::kRequest));
    values.insert(table.acquire(objects.back().get()));
  }
  EXPECT_EQ(values.size(), kMax);
  EXPECT_EQ(values.count(0), 0U);
  Object more(Kind::kRequest);
  EXPECT_EQ(table.acquire(&more), 0U);
  table.drop(objects.front()->handle);
  EXPECT_NE(table.acquire(&more), 0U);
}

}  // namespace
}  // namespace tasuki

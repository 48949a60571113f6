// Handles: given out, found again, counted per use, and told from freed and foreign ones.
#include "binding/handles/handle_table.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "binding/handles/handle_holders.hpp"
#include "binding/handles/handle_origins.hpp"

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

/// Objects with handles: as many as `table` gives, at most `most`.
std::vector<std::unique_ptr<Object>> fill(HandleTable* table, std::size_t most, Kind kind) {
  std::vector<std::unique_ptr<Object>> objects;
  while (objects.size() < most && table->make_room(1)) {
    objects.push_back(std::make_unique<Object>(kind));
    EXPECT_NE(table->acquire(objects.back().get()), 0U);
  }
  return objects;
}

TEST(HandleTable, GrowsBeyondTheHandlesThatHoldAKind) {
  static HandleTable table;  // like the real one, it lives to the end of the program
  constexpr std::size_t kMany = HandleTable::kNarrowSlots + 1000;
  const auto objects = fill(&table, kMany, Kind::kRequest);
  ASSERT_EQ(objects.size(), kMany);
  std::set<std::uint32_t> values;
  for (const auto& object : objects) {
    EXPECT_EQ(table.find(object->handle, Kind::kRequest), object.get());
    EXPECT_EQ(table.find(object->handle), object.get());
    EXPECT_EQ(table.find(object->handle, Kind::kGroup), nullptr);
    values.insert(object->handle);
  }
  EXPECT_EQ(values.size(), kMany);
  EXPECT_GT(*values.begin(), 4095U);
  EXPECT_EQ(*values.rbegin() & 0x80000000U, 0U);
  EXPECT_NE((objects.back()->handle | 0x80000000U) >> 24, 0x8cU);  // MPI_FLOAT_INT and its like

  const std::uint32_t wide = objects.back()->handle;
  EXPECT_EQ(table.acquire(objects.back().get()), wide);
  table.drop(wide);
  EXPECT_EQ(table.find(wide, Kind::kRequest), objects.back().get());
  table.drop(wide);
  EXPECT_EQ(table.find(wide, Kind::kRequest), nullptr);
  table.drop(wide);  // once more does no harm
  Object more(Kind::kGroup);
  EXPECT_EQ(table.acquire(&more), wide);  // its slot is used again: no generation tells them apart
  EXPECT_EQ(table.find(wide, Kind::kGroup), &more);
  table.drop(objects.front()->handle);
  EXPECT_GE(
      table.acquire(objects[kMany - 1].get()) >> (HandleTable::kIndexBits + HandleTable::kGenerationBits),
      5U);
}

TEST(HandleTable, RefusesAtItsLimitAndKeepsASpare) {
  static HandleTable table;
  table.set_limit(300);
  const auto objects = fill(&table, 1000, Kind::kDatatype);
  EXPECT_EQ(objects.size(), 300U);
  EXPECT_FALSE(table.make_room(1));
  Object lent(Kind::kComm);  // for a callback, say
  EXPECT_NE(table.acquire(&lent), 0U);
  table.drop(lent.handle);
  table.drop(objects[0]->handle);
  table.drop(objects[1]->handle);
  EXPECT_TRUE(table.make_room(2));
  EXPECT_TRUE(table.make_room(3));  // the spare one is free now
  EXPECT_FALSE(table.make_room(4));
}

TEST(HandleHolders, NamesTheKindThatFillsTheTableAndWhereItIsFrom) {
  static HandleTable table;
  Origins origins;
  std::vector<std::unique_ptr<Object>> kept;
  const auto make = [&](Kind kind, const Origin& origin, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t size = table.size();
      ASSERT_TRUE(table.make_room(1));
      if (table.size() != size) origins.note_new_slot(size, origin);
      kept.push_back(std::make_unique<Object>(kind));
      table.acquire(kept.back().get());
    }
  };
  make(Kind::kDatatype, {"MPI_Type_vector", 8}, 20);
  make(Kind::kGroup, {"MPI_Group_incl", 16}, 30);
  make(Kind::kDatatype, {"MPI_Type_contiguous", 24}, 40);
  make(Kind::kDatatype, {"MPI_Type_contiguous", 32}, 5);
  const HandleHolders holders = find_holders(table, origins);
  EXPECT_EQ(holders.total, 95U);
  EXPECT_EQ(holders.kind, Kind::kDatatype);
  EXPECT_EQ(holders.count, 65U);
  ASSERT_EQ(holders.places.size(), 3U);
  EXPECT_STREQ(holders.places[0].origin.function, "MPI_Type_contiguous");
  EXPECT_EQ(holders.places[0].origin.site, 24U);
  EXPECT_EQ(holders.places[0].count, 40U);
  EXPECT_STREQ(holders.places[1].origin.function, "MPI_Type_vector");
  EXPECT_EQ(holders.places[2].count, 5U);
}

}  // namespace
}  // namespace tasuki

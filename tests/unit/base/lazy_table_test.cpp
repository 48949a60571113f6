// Shows that entries are made when they are first asked for, stay where they are while the table grows, and
// that those which nobody asked for are not there.
#include "base/lazy_table.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tasuki {
namespace {

struct Counted {
  Counted() { ++made; }
  static int made;
  int value = 7;
};
int Counted::made = 0;

TEST(LazyTable, MakesEntriesWhenTheyAreAskedFor) {
  Counted::made = 0;
  LazyTable<Counted> table(1'000'000);
  EXPECT_EQ(table.size(), 1'000'000u);
  EXPECT_EQ(Counted::made, 0);
  EXPECT_EQ(table.find(999'999), nullptr);
  table[999'999].value = 1;
  EXPECT_EQ(table[64].value, 7);
  EXPECT_EQ(Counted::made, 2);
  EXPECT_EQ(table.find(999'999)->value, 1);
  EXPECT_EQ(table.find(65), nullptr) << "a neighbour";
  EXPECT_EQ(table[64].value, 7);
  EXPECT_EQ(Counted::made, 2) << "it was there";
}

TEST(LazyTable, ShowsThoseThatAreThere) {
  LazyTable<int> table(300);
  for (const std::size_t number : {0, 63, 64, 200, 299}) table[number] = static_cast<int>(number);
  std::vector<std::pair<std::size_t, int>> seen;
  table.for_each([&](std::size_t number, int& value) { seen.emplace_back(number, value); });
  EXPECT_EQ(seen,
            (std::vector<std::pair<std::size_t, int>>{{0, 0}, {63, 63}, {64, 64}, {200, 200}, {299, 299}}));
}

TEST(LazyTable, GrowsAndMovesNothing) {
  LazyTable<int> table;
  EXPECT_EQ(table.size(), 0u);
  table.grow(3);
  int* const place = &table[2];
  table.grow(10'000);
  table.grow(5);
  EXPECT_EQ(table.size(), 10'000u);
  EXPECT_EQ(&table[2], place);
  table[9'999] = 5;
  EXPECT_EQ(*table.find(9'999), 5);
}

TEST(LazyPages, MakesNeighboursTogether) {
  Counted::made = 0;
  LazyPages<Counted> pages(1'000'001);
  EXPECT_EQ(Counted::made, 0);
  Counted* const first = &pages[1'000'000];
  first->value = 3;
  EXPECT_EQ(pages[1'000'000].value, 3);
  EXPECT_EQ(&pages[33], &pages[32] + 1);
  EXPECT_EQ(pages[33].value, 7);
  EXPECT_EQ(Counted::made, 32);
  EXPECT_EQ(&pages[1'000'000], first);
}

}  // namespace
}  // namespace tasuki

// Which ranks border on each other: what two ranks find of each other has to be the same, whatever the owners
// are.
#include "borders.hpp"

#include <gtest/gtest.h>

#include <random>

namespace spam {
namespace {

const Border* border_with(const std::vector<Border>& borders, int rank) {
  for (const Border& border : borders)
    if (border.rank == rank) return &border;
  return nullptr;
}

TEST(Borders, OneRankHasNone) {
  EXPECT_TRUE(find_borders({0, 0, 0}, 0, true).empty());
}

TEST(Borders, BlocksMeetAtTheirEnds) {
  const std::vector<Border> borders = find_borders({0, 0, 1, 1, 2, 2}, 1, false);
  ASSERT_EQ(borders.size(), 2U);
  EXPECT_EQ(borders[0].rank, 0);
  EXPECT_EQ(borders[0].shown, std::vector<int>({2}));
  EXPECT_EQ(borders[0].seen, std::vector<int>({1}));
  EXPECT_EQ(borders[1].rank, 2);
  EXPECT_EQ(borders[1].shown, std::vector<int>({3}));
  EXPECT_EQ(borders[1].seen, std::vector<int>({4}));
}

TEST(Borders, PeriodicSpaceJoinsFirstAndLast) {
  const std::vector<Border> open = find_borders({0, 1, 2}, 0, false);
  ASSERT_EQ(open.size(), 1U);
  const std::vector<Border> joined = find_borders({0, 1, 2}, 0, true);
  ASSERT_EQ(joined.size(), 2U);
  EXPECT_EQ(joined[1].rank, 2);
  EXPECT_EQ(joined[1].seen, std::vector<int>({2}));
}

TEST(Borders, TwoPeriodicColumnsBorderOnceThoughFromBothSides) {
  const std::vector<Border> borders = find_borders({0, 1}, 1, true);
  ASSERT_EQ(borders.size(), 1U);
  EXPECT_EQ(borders[0].shown, std::vector<int>({1}));
  EXPECT_EQ(borders[0].seen, std::vector<int>({0}));
}

TEST(Borders, AColumnBetweenTwoOfOursIsSeenOnce) {
  const std::vector<Border> borders = find_borders({0, 1, 0, 1, 0}, 0, false);
  ASSERT_EQ(borders.size(), 1U);
  EXPECT_EQ(borders[0].shown, std::vector<int>({0, 2, 4}));
  EXPECT_EQ(borders[0].seen, std::vector<int>({1, 3}));
}

TEST(Borders, AreTheSameFromBothSides) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const int ranks = 1 + static_cast<int>(random() % 6);
    const bool periodic = round % 2 == 0;
    Owners owners(1 + random() % 20);
    for (int& owner : owners) owner = static_cast<int>(random() % static_cast<unsigned>(ranks));
    for (int rank = 0; rank < ranks; ++rank)
      for (const Border& border : find_borders(owners, rank, periodic)) {
        const std::vector<Border> theirs = find_borders(owners, border.rank, periodic);
        const Border* mirrored = border_with(theirs, rank);
        ASSERT_NE(mirrored, nullptr);
        EXPECT_EQ(mirrored->shown, border.seen);
        EXPECT_EQ(mirrored->seen, border.shown);
      }
  }
}

TEST(Ghosts, AreFoundByColumnAndParity) {
  const Owners owners = {0, 1, 2, 1};
  GhostTable ghosts;
  ghosts.reset(owners, find_borders(owners, 1, false));
  const double values[2] = {};
  ghosts.view(0, 0).x = values;
  ghosts.view(2, 1).x = values + 1;
  EXPECT_EQ(ghosts.view(0, 0).x, values);
  EXPECT_EQ(ghosts.view(2, 1).x, values + 1);
  EXPECT_EQ(ghosts.view(2, 0).x, nullptr);
}

}  // namespace
}  // namespace spam

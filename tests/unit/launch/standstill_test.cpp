// When a job is said to stand still, and when not: looks at the ranks' lines, made up.
#include "launch/doctor/standstill.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tasuki::launch {
namespace {

using Place = RankLook::Place;
constexpr std::int64_t kSecond = 1'000'000'000;

RankLook waits(std::uint64_t word, std::uint64_t moves = 0) {
  return {Place::kInside, word, moves};
}

constexpr RankLook kComputes{Place::kOutside, 8, 0};
constexpr RankLook kGone{Place::kGone, 8, 0};

TEST(Standstill, CountsFromTheFirstLookAtIt) {
  Standstill standstill;
  EXPECT_EQ(standstill.since_ns(), 0);
  for (int second = 1; second < 30; ++second) {
    standstill.look({waits(1), waits(2)}, second * kSecond);
    EXPECT_EQ(standstill.since_ns(), kSecond) << second;
  }
}

TEST(Standstill, BeginsAnewWhenOneMoves) {
  Standstill standstill;
  standstill.look({waits(1), waits(2, 5)}, 1 * kSecond);
  standstill.look({waits(1), waits(2, 5)}, 2 * kSecond);
  standstill.look({waits(1), waits(2, 6)}, 3 * kSecond);
  EXPECT_EQ(standstill.since_ns(), 3 * kSecond) << "a message moved";
  standstill.look({waits(3), waits(2, 6)}, 4 * kSecond);
  EXPECT_EQ(standstill.since_ns(), 4 * kSecond) << "another call";
  standstill.look({waits(3), waits(2, 6), waits(9)}, 5 * kSecond);
  EXPECT_EQ(standstill.since_ns(), 5 * kSecond) << "a rank was spawned";
}

TEST(Standstill, IsNoneWhileSomebodyComputes) {
  Standstill standstill;
  for (int second = 1; second < 30; ++second) {
    standstill.look({waits(1), kComputes, waits(2)}, second * kSecond);
    EXPECT_EQ(standstill.since_ns(), 0) << second;
  }
  standstill.look({waits(1), waits(4), waits(2)}, 30 * kSecond);
  EXPECT_EQ(standstill.since_ns(), 30 * kSecond);
}

TEST(Standstill, IsNoneOfRanksThatAreGone) {
  Standstill standstill;
  for (int second = 1; second < 5; ++second) standstill.look({kGone, kGone}, second * kSecond);
  EXPECT_EQ(standstill.since_ns(), 0);
  standstill.look({}, 5 * kSecond);
  EXPECT_EQ(standstill.since_ns(), 0);
  standstill.look({kGone, waits(2)}, 6 * kSecond);
  EXPECT_EQ(standstill.since_ns(), 6 * kSecond) << "the others wait all the same";
}

TEST(Standstill, DoesNotCountTheTimeThatItWasStopped) {
  Standstill standstill;
  standstill.look({waits(1)}, 1 * kSecond);
  standstill.look({waits(1)}, 2 * kSecond);
  standstill.look({waits(1)}, 2 * kSecond + Standstill::kGapMaxNs + 1);
  EXPECT_EQ(standstill.since_ns(), 2 * kSecond + Standstill::kGapMaxNs + 1);
  EXPECT_EQ(standstill.quiet(), 0u);
}

TEST(Standstill, QuietNamesThoseThatStayedWhereTheyWere) {
  Standstill standstill;
  standstill.look({waits(1), waits(2), kComputes}, 1);
  EXPECT_EQ(standstill.quiet(), 0u) << "one look tells nothing";
  standstill.look({waits(1), waits(2), kComputes}, 2);
  const std::uint64_t two = standstill.quiet();
  EXPECT_NE(two, 0u);
  standstill.look({waits(1), waits(2), kComputes}, 3);
  EXPECT_EQ(standstill.quiet(), two);
  standstill.look({waits(1), waits(2), waits(3)}, 4);
  EXPECT_EQ(standstill.quiet(), two) << "the third has only come";
  standstill.look({waits(1), waits(2), waits(3)}, 5);
  const std::uint64_t three = standstill.quiet();
  EXPECT_NE(three, two);
  EXPECT_NE(three, 0u);
  standstill.look({waits(1), waits(2, 1), waits(3)}, 6);
  EXPECT_NE(standstill.quiet(), three) << "the second moved";
  standstill.look({kComputes, kComputes, kGone}, 7);
  standstill.look({kComputes, kComputes, kGone}, 8);
  EXPECT_EQ(standstill.quiet(), 0u) << "none is in a call";
}

TEST(Standstill, QuietTellsRanksApart) {
  Standstill one;
  Standstill other;
  for (int time : {1, 2}) {
    one.look({waits(7), kComputes}, time);
    other.look({kComputes, waits(7)}, time);
  }
  EXPECT_NE(one.quiet(), other.quiet());
}

}  // namespace
}  // namespace tasuki::launch

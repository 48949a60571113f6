// The way of a collective access follows from what it is like: regions that ranks share finely go through
// aggregators, long ones do not; hints are heard; more processors give more aggregators only where these do
// not merely queue for the file.
#include "io/two_phase/cost_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tasuki {
namespace {

constexpr Count kMiB = 1 << 20;

/// `ranks` ranks have regions in turn, `space` bytes apart.
AccessShape regions(bool write, int ranks, Count bytes, Count region, Count space) {
  AccessShape shape;
  shape.write = write;
  shape.ranks = ranks;
  shape.bytes = bytes;
  shape.runs = bytes / region;
  shape.hull = {0, shape.runs * (region + space) - space};
  shape.processors = 2;
  shape.side_by_side = false;
  return shape;
}

TEST(Choice, SmallRegionsGoThroughAggregators) {
  for (const bool write : {false, true}) {
    for (const Count space : {0, 64}) {
      const CollectiveChoice choice =
          choose_collective(regions(write, 4, 64 * kMiB, 64, space), HintSwitch::kAutomatic, 0);
      EXPECT_TRUE(choice.two_phase);
      EXPECT_FALSE(choice.by_runs);
      EXPECT_EQ(choice.aggregators_per_node, 2);
      EXPECT_LT(choice.two_phase_ns, choice.independent_ns / 2);
    }
  }
}

TEST(Choice, EachRankMovesItsOwnWhereThatIsLong) {
  for (const bool write : {false, true}) {
    AccessShape shape = regions(write, 4, 128 * kMiB, 32 * kMiB, 0);
    shape.apart = true;
    EXPECT_FALSE(choose_collective(shape, HintSwitch::kAutomatic, 0).two_phase);
    shape = regions(write, 4, 128 * kMiB, kMiB, 0);
    EXPECT_FALSE(choose_collective(shape, HintSwitch::kAutomatic, 0).two_phase);
    shape = regions(write, 4, 4 * 4096, 4096, 0);
    shape.apart = true;
    EXPECT_FALSE(choose_collective(shape, HintSwitch::kAutomatic, 0).two_phase);
  }
}

TEST(Choice, OneAggregatorWritesLongRunsAlone) {
  const CollectiveChoice choice =
      choose_collective(regions(true, 4, 128 * kMiB, 16384, 0), HintSwitch::kAutomatic, 0);
  EXPECT_TRUE(choice.two_phase);
  EXPECT_TRUE(choice.by_runs);
  EXPECT_EQ(choice.aggregators_per_node, 1);
}

TEST(Choice, HintsAreHeard) {
  const AccessShape small = regions(true, 4, 64 * kMiB, 64, 0);
  const AccessShape large = regions(true, 4, 128 * kMiB, 32 * kMiB, 0);
  EXPECT_FALSE(choose_collective(small, HintSwitch::kDisable, 0).two_phase);
  EXPECT_TRUE(choose_collective(large, HintSwitch::kEnable, 0).two_phase);
  EXPECT_EQ(choose_collective(large, HintSwitch::kEnable, 3).aggregators_per_node, 3);
  AccessShape none = small;
  none.bytes = 0;
  EXPECT_FALSE(choose_collective(none, HintSwitch::kEnable, 0).two_phase);
}

TEST(Choice, NoMoreAggregatorsThanProcessorsOrRanks) {
  for (int processors = 1; processors <= 64; processors *= 2) {
    for (int ranks = 1; ranks <= 64; ranks *= 2) {
      for (const bool write : {false, true}) {
        AccessShape shape = regions(write, ranks, 64 * kMiB, 64, 64);
        shape.processors = processors;
        const CollectiveChoice choice = choose_collective(shape, HintSwitch::kEnable, 0);
        EXPECT_GE(choice.aggregators_per_node, 1);
        EXPECT_LE(choice.aggregators_per_node, std::min(processors, ranks));
      }
    }
  }
}

/// A rank that writes queues for the file, one that reads does not.
TEST(Choice, ReadersAreMoreThanWriters) {
  AccessShape write = regions(true, 64, 64 * kMiB, 64, 0);
  AccessShape read = regions(false, 64, 64 * kMiB, 64, 0);
  write.processors = read.processors = 64;
  EXPECT_GT(choose_collective(read, HintSwitch::kEnable, 0).aggregators_per_node,
            choose_collective(write, HintSwitch::kEnable, 0).aggregators_per_node);
}

/// Without locks, or in a file that cannot be read, holes cannot be filled: runs are written one by one.
TEST(Choice, HolesThatCannotBeFilledAreLeftOut) {
  AccessShape shape = regions(true, 4, 64 * kMiB, 64, 64);
  shape.fills_holes = false;
  EXPECT_FALSE(choose_collective(shape, HintSwitch::kAutomatic, 2).two_phase);
}

}  // namespace
}  // namespace tasuki

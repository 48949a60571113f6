// What hints and stripes make of a collective access: who aggregates, how the file is divided among them, and
// when each rank moves its own.
#include <gtest/gtest.h>

#include <string_view>

#include "io/two_phase/cost_model.hpp"

namespace tasuki {
namespace {

const std::vector<int> kNodes = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};

int number_of(const IoHints& hints, const Striping& striping) {
  const NodeMap nodes(kNodes, 0);
  return request_aggregators(hints, {.aggregators_per_node = 2}, striping, nodes).number;
}

TEST(ChoiceHints, TheModelSaysHowManyAggregateWhereNobodyElseDoes) {
  IoHints hints;
  EXPECT_EQ(number_of(hints, {}), 4);
  hints.aggregators.number = 7;
  EXPECT_EQ(number_of(hints, {}), 7);
  EXPECT_EQ(number_of(hints, {.targets = 4}), 7);
  hints = {};
  hints.aggregators.config_list = "*:1";
  EXPECT_EQ(number_of(hints, {.targets = 4}), 0);
}

TEST(ChoiceHints, OnStripesSoManyForEachTarget) {
  IoHints hints;
  EXPECT_EQ(number_of(hints, {.targets = 4, .unit_bytes = 1}), 4);
  EXPECT_EQ(number_of(hints, {.targets = 12, .unit_bytes = 1}), 12);
  EXPECT_EQ(number_of(hints, {.targets = 32, .unit_bytes = 1}), 8);  // a divisor, at most all 12 ranks
  hints.lustre_co_ratio = 2;
  EXPECT_EQ(number_of(hints, {.targets = 4, .unit_bytes = 1}), 8);
  hints.lustre_co_ratio = 2147483647;
  EXPECT_EQ(number_of(hints, {.targets = 5, .unit_bytes = 1}), 10);  // a multiple
}

TEST(ChoiceHints, WithOneAggregatorForATargetItsStripesAreThoseOfTheTarget) {
  const Striping striping{.targets = 4, .unit_bytes = 1000};
  const FileDomains domains = divide_file({2500, 50000}, 8, {}, striping);
  for (int aggregator = 0; aggregator < 8; ++aggregator) {
    for (Count cycle = 0; cycle < domains.cycles(); ++cycle) {
      const FileRange window = domains.window(aggregator, cycle);
      if (window.bytes() > 0) EXPECT_EQ(window.begin / 1000 % 4, aggregator % 4);
    }
  }
}

TEST(ChoiceHints, BlocksOfTheUserGoRound) {
  IoHints hints;
  hints.block_bytes = 100;
  const FileDomains domains = divide_file({0, 1000}, 3, hints, {.targets = 4, .unit_bytes = 1000});
  EXPECT_EQ(domains.cycles(), 4);
  EXPECT_EQ(domains.window(1, 2).begin, 700);
  hints = {};
  EXPECT_EQ(divide_file({0, 100 << 20}, 2, hints, {}).window(0, 0).bytes(), 16 << 20);
}

TEST(ChoiceHints, AboveTheThresholdEachRankMovesItsOwn) {
  AccessShape shape{.write = true, .ranks = 4, .bytes = 4 << 20, .runs = 65536, .hull = {0, 8 << 20}};
  const auto goes_together = [&](HintSwitch wanted) { return choose_collective(shape, wanted, 0).two_phase; };
  EXPECT_TRUE(goes_together(HintSwitch::kAutomatic));
  shape.rank_bytes_max = 1 << 20;
  EXPECT_TRUE(goes_together(HintSwitch::kAutomatic));
  shape.rank_bytes_max = (1 << 20) - 1;
  EXPECT_FALSE(goes_together(HintSwitch::kAutomatic));
  EXPECT_TRUE(goes_together(HintSwitch::kEnable));
}

}  // namespace
}  // namespace tasuki

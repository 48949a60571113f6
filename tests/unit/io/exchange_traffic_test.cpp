// Shows what the orders of exchange do to the links of nodes, in the model of exchange_traffic.hpp: how many
// messages hit one node at a step, up to 64 nodes of 12 ranks, and that the order by amounts is, on the
// average over random amounts, no slower than the best of the others. Prints the tables of docs/io.md;
// TASUKI_TEST_LONG makes that of 64 nodes whole.
#include "io/exchange_traffic.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace tasuki {
namespace {

using test::ExchangeTraffic;
using test::Links;

using Ranks = std::vector<int>;
using Amounts = std::vector<Count>;

/// `nodes` of `ranks` each, in blocks (BK) or round robin (RR).
Ranks placed(int nodes, int ranks, bool round_robin) {
  Ranks placed;
  for (int rank = 0; rank < nodes * ranks; ++rank)
    placed.push_back(round_robin ? rank % nodes : rank / ranks);
  return placed;
}

/// The first rank of every `every`-th node.
Ranks leaders(const NodeMap& map, int every) {
  Ranks leaders;
  for (int node = 0; node < map.nodes(); node += every) leaders.push_back(map.leader_of(node));
  return leaders;
}

ExchangeTraffic traffic(int order, const NodeMap& map, const CycleAmounts& amounts) {
  return {static_cast<ExchangeOrder>(order), map, amounts};
}

// ----- the model -------------------------------------------------------------------------------------------

/// Three nodes of one rank; what ranks 0 and 1 send to node 2 meets there.
TEST(ExchangeTraffic, LinksAreSharedAndWaitedFor) {
  const NodeMap map(Ranks{0, 1, 2}, 0);
  const Ranks aggregators = {0, 1, 2};
  const Amounts bytes = {
      5, 0,  100,  // rank 0
      0, 0,  60,   // rank 1, which keeps nothing, and so sends to node 2 a step before rank 0
      0, 10, 5};   // rank 2
  const ExchangeTraffic by_rank = traffic(0, map, {aggregators, bytes});
  EXPECT_EQ(by_rank.bound(), 160);
  EXPECT_EQ(by_rank.finish(Links::kShared), 160);
  EXPECT_EQ(by_rank.finish(Links::kBuffered), 160);
  EXPECT_EQ(by_rank.hits().most, 1);
  const ExchangeTraffic shifted = traffic(2, map, {aggregators, bytes});
  EXPECT_EQ(shifted.hits().most, 2);
  EXPECT_DOUBLE_EQ(shifted.hits().mean, 1.5);  // two at node 2, one at node 1
}

/// A sender that a busy link holds up cannot serve another one meanwhile, unless there is room in the
/// network.
TEST(ExchangeTraffic, RoomInTheNetworkLetsSendersGoOn) {
  const NodeMap map(Ranks{0, 1, 2, 3}, 0);
  const Ranks aggregators = {2, 3};
  const Amounts bytes = {100, 0,    // rank 0: to rank 2
                         100, 100,  // rank 1: to rank 2, then to rank 3
                         0,   0,   0, 0};
  const ExchangeTraffic by_rank = traffic(0, map, {aggregators, bytes});
  EXPECT_EQ(by_rank.finish(Links::kShared), 300);    // both at half speed; then rank 1 goes on
  EXPECT_EQ(by_rank.finish(Links::kBuffered), 200);  // rank 1 goes on at 100
}

TEST(ExchangeTraffic, ReadingTurnsMessagesRound) {
  const NodeMap map(Ranks{0, 0, 1}, 0);
  const Ranks aggregators = {2};
  const Amounts bytes = {30, 20, 7};
  EXPECT_EQ(traffic(0, map, {aggregators, bytes, false}).hits().most, 2);
  EXPECT_EQ(traffic(0, map, {aggregators, bytes, true}).hits().most, 1);
  EXPECT_EQ(traffic(0, map, {aggregators, bytes, true}).finish(Links::kBuffered), 50);
}

// ----- the paper's machine ---------------------------------------------------------------------------------

/// 64 nodes of 12 ranks, an aggregator on each, even amounts: in the order of ranks all start at one
/// node; by nodes, each node hears only one other at a step, and no link ever waits.
TEST(ExchangeTraffic, SixtyFourNodesOfTwelve) {
  for (const bool round_robin : {false, true}) {
    const NodeMap map(placed(64, 12, round_robin), 0);
    const Ranks aggregators = leaders(map, 1);
    const Amounts bytes(std::size_t{768} * 64, 3744);
    const CycleAmounts amounts{aggregators, bytes};
    const ExchangeTraffic by_rank = traffic(0, map, amounts);
    EXPECT_EQ(by_rank.hits().most, 756);
    EXPECT_GT(by_rank.finish(Links::kBuffered), by_rank.bound() * 14 / 10);
    const ExchangeTraffic by_node = traffic(3, map, amounts);
    EXPECT_EQ(by_node.hits().most, 12);
    EXPECT_EQ(by_node.finish(Links::kShared), by_node.bound());
    EXPECT_EQ(by_node.finish(Links::kBuffered), by_node.bound());
  }
}

// ----- random amounts --------------------------------------------------------------------------------------

/// Ways in which amounts differ.
enum class Pattern { kEven, kUniform, kHeavyTail, kBusyNode, kNeighbours, kSparse, kFewAggregators };
constexpr std::array kPatterns = {Pattern::kEven,          Pattern::kUniform,    Pattern::kHeavyTail,
                                  Pattern::kBusyNode,      Pattern::kNeighbours, Pattern::kSparse,
                                  Pattern::kFewAggregators};
constexpr const char* kPatternNames[] = {"all alike",
                                         "0 to 80,000 B",
                                         "log-normal",
                                         "one node's eightfold",
                                         "near nodes' eightfold",
                                         "three of four none",
                                         "aggregators on every other node"};

Amounts draw(Pattern pattern, const NodeMap& map, const Ranks& aggregators, std::mt19937* random) {
  std::uniform_int_distribution<Count> uniform(0, 80'000);
  std::lognormal_distribution<double> heavy(0, 1);
  Amounts bytes;
  for (int rank = 0; rank < map.size(); ++rank) {
    for (const int aggregator : aggregators) {
      Count amount = pattern == Pattern::kEven ? 40'000 : uniform(*random);
      const int distance = std::abs(map.node_of(rank) - map.node_of(aggregator));
      if (pattern == Pattern::kHeavyTail) amount = static_cast<Count>(40'000 * heavy(*random));
      if (pattern == Pattern::kBusyNode && map.node_of(rank) == 1) amount *= 8;
      if (pattern == Pattern::kNeighbours && distance <= 1) amount *= 8;
      if (pattern == Pattern::kSparse && (*random)() % 4 != 0) amount = 0;
      bytes.push_back(amount);
    }
  }
  return bytes;
}

/// Of each order, how much longer than the busiest link alone it takes, on the average over some draws, both
/// ways, and both placements.
using Means = std::array<double, kExchangeOrders>;

Means mean_finish(Pattern pattern, int nodes, int ranks, Links links, int draws) {
  std::mt19937 random(7);
  Means means{};
  for (int draw_number = 0; draw_number < draws; ++draw_number) {
    const NodeMap map(placed(nodes, ranks, draw_number % 2 == 1), 0);
    const Ranks aggregators = leaders(map, pattern == Pattern::kFewAggregators ? 2 : 1);
    const Amounts bytes = draw(pattern, map, aggregators, &random);
    const CycleAmounts amounts{aggregators, bytes, draw_number / 2 % 2 == 1};
    for (int order = 0; order < kExchangeOrders; ++order) {
      const ExchangeTraffic one = traffic(order, map, amounts);
      means[static_cast<std::size_t>(order)] +=
          static_cast<double>(one.finish(links)) / static_cast<double>(one.bound()) / draws;
    }
  }
  return means;
}

void hold_and_print(int nodes, int ranks, Links links, int draws,
                    std::span<const Pattern> patterns = kPatterns) {
  std::printf("%d nodes of %d ranks, %s links: time of an exchange, the busiest link alone taking 1\n", nodes,
              ranks, links == Links::kShared ? "shared" : "buffered");
  std::printf("%-32s", "amounts");
  for (int order = 0; order < kExchangeOrders; ++order)
    std::printf(" %13s", order_name(static_cast<ExchangeOrder>(order)));
  std::printf("\n");
  for (const Pattern pattern : patterns) {
    const Means means = mean_finish(pattern, nodes, ranks, links, draws);
    std::printf("%-32s", kPatternNames[static_cast<int>(pattern)]);
    for (const double mean : means) std::printf(" %13.2f", mean);
    std::printf("\n");
    const double best_other = *std::min_element(means.begin(), means.end() - 1);
    // Where most pairs have nothing for each other, buffered links hardly need an order, and a plan that
    // keeps senders waiting can cost a little.
    const bool loose = links == Links::kBuffered && pattern == Pattern::kSparse;
    EXPECT_LE(means.back(), best_other * (loose ? 1.05 : 1.005)) << kPatternNames[static_cast<int>(pattern)];
  }
}

TEST(WeightedTraffic, FourNodesOfTwo) {
  hold_and_print(4, 2, Links::kShared, 200);
  hold_and_print(4, 2, Links::kBuffered, 200);
}

TEST(WeightedTraffic, SixteenNodesOfFour) {
  hold_and_print(16, 4, Links::kShared, 4);
  hold_and_print(16, 4, Links::kBuffered, 4);
}

TEST(WeightedTraffic, SixtyFourNodesOfTwelve) {
  const bool all = std::getenv("TASUKI_TEST_LONG") != nullptr;
  constexpr std::array kFew = {Pattern::kUniform, Pattern::kFewAggregators};
  hold_and_print(64, 12, Links::kBuffered, all ? 4 : 1, all ? std::span<const Pattern>(kPatterns) : kFew);
  if (all) hold_and_print(64, 12, Links::kShared, 4);
}

}  // namespace
}  // namespace tasuki

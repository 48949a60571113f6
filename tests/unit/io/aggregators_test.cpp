// Which ranks aggregate, for every small placement and number, and what cb_config_list makes of it.
#include "io/plan/aggregators.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tasuki {
namespace {

NodeMap map_of(const std::vector<int>& numbers) {
  return {numbers, 0};
}

const std::vector<int> kBlocks = {0, 0, 0, 0, 1, 1, 1, 1};     // ranks fill nodes
const std::vector<int> kInTurn = {0, 1, 0, 1, 0, 1, 0, 1};     // ranks go round the nodes
const std::vector<int> kUneven = {0, 1, 1, 1, 2, 2, 0, 1, 1};  // 2, 5 and 2 ranks

std::vector<int> chosen(const std::vector<int>& numbers, const AggregatorRequest& request,
                        std::string* unmet = nullptr) {
  return choose_aggregators(map_of(numbers), request, unmet);
}

TEST(Aggregators, OfOneNodeAfterTheOtherOrInTurn) {
  AggregatorRequest request{.number = 4, .placement = AggregatorPlacement::kBlock};
  EXPECT_EQ(chosen(kBlocks, request), (std::vector<int>{0, 1, 4, 5}));
  EXPECT_EQ(chosen(kInTurn, request), (std::vector<int>{0, 2, 1, 3}));
  request.placement = AggregatorPlacement::kRoundRobin;
  EXPECT_EQ(chosen(kBlocks, request), (std::vector<int>{0, 4, 1, 5}));
  EXPECT_EQ(chosen(kInTurn, request), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(chosen(kUneven, {.number = 8}), (std::vector<int>{0, 1, 4, 6, 2, 5, 3, 7}));
}

TEST(Aggregators, SoManyOfEachNode) {
  EXPECT_EQ(chosen(kUneven, {.per_node = 1}), (std::vector<int>{0, 1, 4}));
  EXPECT_EQ(chosen(kUneven, {.per_node = 3, .placement = AggregatorPlacement::kBlock}),
            (std::vector<int>{0, 6, 1, 2, 3, 4, 5}));
  EXPECT_EQ(chosen(kUneven, {.number = 4, .per_node = 1}), (std::vector<int>{0, 1, 4}));
}

TEST(Aggregators, EveryNumberAndPlacementGivesDistinctRanksEvenly) {
  for (int ranks = 1; ranks <= 6; ++ranks) {
    int placements = 1;
    for (int i = 0; i < ranks; ++i) placements *= 3;
    for (int placement = 0; placement < placements; ++placement) {
      std::vector<int> numbers;
      for (int i = 0, left = placement; i < ranks; ++i, left /= 3) numbers.push_back(left % 3);
      const NodeMap map = map_of(numbers);
      for (int number = 1; number <= ranks + 2; ++number) {
        for (const auto order : {AggregatorPlacement::kBlock, AggregatorPlacement::kRoundRobin}) {
          std::string unmet;
          const auto found = choose_aggregators(map, {.number = number, .placement = order}, &unmet);
          ASSERT_EQ(static_cast<int>(found.size()), std::min(number, ranks));
          ASSERT_EQ(unmet.empty(), number <= ranks);
          ASSERT_EQ(std::set<int>(found.begin(), found.end()).size(), found.size());
          std::vector<int> counts(static_cast<std::size_t>(map.nodes()));
          for (const int rank : found) {
            // The first ranks of a node, in order.
            ASSERT_EQ(map.index_of(rank), counts[static_cast<std::size_t>(map.node_of(rank))]++);
          }
          for (int node = 0; node < map.nodes(); ++node) {
            const int count = counts[static_cast<std::size_t>(node)];
            const int most = *std::max_element(counts.begin(), counts.end());
            ASSERT_TRUE(count >= most - 1 || count == map.ranks_on(node));
          }
        }
      }
    }
  }
}

TEST(Aggregators, AConfigListLimitsNodesByName) {
  AggregatorRequest request{.placement = AggregatorPlacement::kBlock};
  request.node_names = {"host.node0", "host.node1"};
  const auto with = [&](const char* list, std::string* unmet = nullptr) {
    request.config_list = list;
    return chosen(kBlocks, request, unmet);
  };
  EXPECT_EQ(with("*:1"), (std::vector<int>{0, 4}));
  EXPECT_EQ(with("*"), (std::vector<int>{0, 4}));
  EXPECT_EQ(with("*:*"), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(with("host.node1:2,*:0"), (std::vector<int>{4, 5}));
  EXPECT_EQ(with("host.node1:2, * : 1"), (std::vector<int>{4, 5, 0}));
  EXPECT_EQ(with("host.node1"), (std::vector<int>{4}));
  EXPECT_EQ(with("host:3"), (std::vector<int>{0, 1, 2, 4, 5, 6}));
  EXPECT_EQ(with("other:2,*:1"), (std::vector<int>{0, 4}));
  request.per_node = 1;
  EXPECT_EQ(with("*:*"), (std::vector<int>{0, 4}));
  request.per_node = 0;
  request.number = 3;  // the less of the two counts
  EXPECT_EQ(with("*:*"), (std::vector<int>{0, 1, 4}));
  std::string unmet;
  EXPECT_EQ(with("*:1", &unmet), (std::vector<int>{0, 4}));
  EXPECT_EQ(unmet, "3 aggregators were asked for, but only 2 ranks may aggregate");
}

TEST(Aggregators, ThereIsAlwaysOne) {
  for (const char* list : {"*:0", "nowhere:4", "a:b", ",", ""}) {
    std::string unmet;
    AggregatorRequest request{.number = 1};
    request.config_list = list;
    EXPECT_EQ(chosen(kUneven, request, &unmet), std::vector<int>{0}) << list;
    EXPECT_EQ(unmet.empty(), *list == '\0') << list;
  }
}

TEST(Aggregators, ListsThatAreNone) {
  std::vector<ConfigItem> items;
  std::string error;
  for (const char* text : {"", ",", "a,", "a:", ":1", "a:-1", "a:1x", "a:9999999999", " "})
    EXPECT_FALSE(parse_config_list(text, &items, &error)) << text;
  EXPECT_TRUE(parse_config_list("a,b:2,*:*", &items, &error));
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[0].ranks_max, 1);
  EXPECT_EQ(items[1].name, "b");
  EXPECT_EQ(items[1].ranks_max, 2);
  EXPECT_GT(items[2].ranks_max, 1000000);
}

}  // namespace
}  // namespace tasuki

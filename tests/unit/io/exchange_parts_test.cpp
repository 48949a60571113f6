// Which parts travel: both ends of every message find the same one, everything gets to its aggregator once,
// and what can be addressed stays where it is.
#include "io/two_phase/exchange_parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <tuple>

#include "datatype/layout.hpp"

namespace tasuki::test {
namespace {

using Random = std::mt19937_64;

int pick(Random& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// A plan of its own for each rank: they differ in `own_number` alone.
struct Case {
  std::vector<int> nodes;
  std::vector<FileMap> maps;
  AccessPlan plan;
  ExchangeOrder order;
};

Case random_case(Random& random) {
  Case made;
  const int ranks = pick(random, 1, 9);
  const int nodes = pick(random, 1, 4);
  for (int rank = 0; rank < ranks; ++rank) {
    made.nodes.push_back(pick(random, 1, nodes));
    const Count block = pick(random, 1, 9);
    const Count stride = block + pick(random, 0, 20);
    made.maps.emplace_back(pick(random, 0, 50), stride, layout_run(pick(random, 0, 3), block));
  }
  Offset begin = INT64_MAX;
  Offset end = 0;
  made.plan.write = random() % 2 == 0;
  for (int rank = 0; rank < ranks; ++rank) {
    RankPart part{&made.maps[static_cast<std::size_t>(rank)], {}, random() % 2};
    part.range.begin = pick(random, 0, 40);
    part.range.end = part.range.begin + (random() % 4 == 0 ? 0 : pick(random, 1, 300));
    if (part.range.bytes() > 0) {
      begin = std::min(begin, part.map->offset_of(part.range.begin));
      end = std::max(end, part.map->offset_of(part.range.end - 1) + 1);
    }
    made.plan.parts.push_back(part);
  }
  made.plan.aggregators.resize(static_cast<std::size_t>(ranks));
  std::iota(made.plan.aggregators.begin(), made.plan.aggregators.end(), 0);
  std::shuffle(made.plan.aggregators.begin(), made.plan.aggregators.end(), random);
  made.plan.aggregators.resize(static_cast<std::size_t>(pick(random, 1, ranks)));
  const auto aggregators = static_cast<int>(made.plan.aggregators.size());
  const FileRange all{std::min(begin, end), end};
  made.plan.domains = random() % 2 == 0
                          ? FileDomains::blocks(all, aggregators, pick(random, 1, 20), pick(random, 1, 90))
                          : FileDomains::stripes(all, aggregators, pick(random, 1, 70), pick(random, 1, 90));
  made.order = static_cast<ExchangeOrder>(pick(random, 0, kExchangeOrders - 1));
  return made;
}

AccessPlan plan_of(const Case& one, int rank) {
  AccessPlan plan = one.plan;
  const auto place = std::find(plan.aggregators.begin(), plan.aggregators.end(), rank);
  plan.own_number = place == plan.aggregators.end() ? -1 : static_cast<int>(place - plan.aggregators.begin());
  return plan;
}

using Message = std::tuple<int, int, Count, Count>;  // rank, aggregator's number, positions
Message message_of(const ExchangePart& part) {
  return {part.rank, part.aggregator, part.range.begin, part.range.end};
}

void expect_in_order(const std::vector<int>& order, const std::vector<ExchangePart>& own, const Case& one) {
  std::vector<int> places(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    places[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  int last = -1;
  for (const ExchangePart& part : own) {
    const int to = one.plan.aggregators[static_cast<std::size_t>(part.aggregator)];
    EXPECT_GT(places[static_cast<std::size_t>(to)], last);
    last = places[static_cast<std::size_t>(to)];
  }
}

void check(const Case& one) {
  const auto ranks = static_cast<int>(one.nodes.size());
  std::vector<Count> arrived(one.nodes.size());
  std::vector<AccessPlan> plans;
  std::vector<NodeMap> maps;
  for (int rank = 0; rank < ranks; ++rank) {
    plans.push_back(plan_of(one, rank));
    maps.emplace_back(one.nodes, rank);
  }
  std::vector<ExchangeParts> parts;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    parts.emplace_back(plans[at], maps[at], one.order, rank);
  }
  for (Count cycle = 0; cycle < one.plan.domains.cycles(); ++cycle) {
    std::vector<Message> from_owners, at_aggregators;
    for (ExchangeParts& mine : parts) {
      const std::vector<ExchangePart> own = mine.own_parts(cycle);
      expect_in_order(mine.order(cycle), own, one);
      for (const ExchangePart& part : own) {
        if (part.travels) from_owners.push_back(message_of(part));
      }
      int last = -1;
      for (const ExchangePart& part : mine.window_parts(cycle)) {
        EXPECT_GT(part.rank, last);
        last = part.rank;
        arrived[static_cast<std::size_t>(part.rank)] += part.range.bytes();
        if (part.travels) at_aggregators.push_back(message_of(part));
      }
    }
    std::sort(from_owners.begin(), from_owners.end());
    std::sort(at_aggregators.begin(), at_aggregators.end());
    EXPECT_EQ(from_owners, at_aggregators);
  }
  for (std::size_t rank = 0; rank < arrived.size(); ++rank)
    EXPECT_EQ(arrived[rank], one.plan.parts[rank].range.bytes()) << "rank " << rank;
}

TEST(ExchangeParts, BothEndsFindTheSameMessages) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    check(random_case(random));
    if (HasFailure()) return;
  }
}

TEST(ExchangeParts, WhatAnAggregatorCanAddressStays) {
  const FileMap map(0, 1, layout_run(0, 1));
  AccessPlan plan;
  plan.parts = {{&map, {0, 10}, 4096}, {&map, {10, 20}, 0}, {&map, {20, 30}, 4096}, {&map, {30, 40}, 4096}};
  plan.aggregators = {1, 2};
  plan.domains = FileDomains::blocks({0, 40}, 2, 1, 100);
  const std::vector<int> nodes = {0, 0, 0, 1};
  const NodeMap map_of_nodes(nodes, 0);
  const ExchangeParts parts(plan, map_of_nodes, ExchangeOrder::kRank, 0);
  EXPECT_FALSE(parts.travels(0, 0));  // offered, on the same node
  EXPECT_FALSE(parts.travels(1, 0));  // the aggregator's own
  EXPECT_TRUE(parts.travels(1, 1));   // private
  EXPECT_FALSE(parts.travels(2, 0));
  EXPECT_TRUE(parts.travels(3, 0));  // offered, on another node
  EXPECT_TRUE(parts.travels(3, 1));
}

}  // namespace
}  // namespace tasuki::test

// Shows that the orders of an exchange are those of the paper: its example, placements in blocks and round
// robin, nodes of uneven size, against the two algorithms written out as they stand there; that each order
// holds every rank once; and what the order by amounts does with amounts.
#include "io/plan/exchange_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace tasuki {
namespace {

using Ranks = std::vector<int>;

constexpr CycleAmounts kNone{};

Ranks order_of(ExchangeOrder order, const Ranks& nodes, int rank) {
  return exchange_order(order, NodeMap(nodes, rank), rank, kNone);
}

TEST(ExchangeOrder, NamesGoBothWays) {
  for (int i = 0; i < kExchangeOrders; ++i) {
    ExchangeOrder parsed = ExchangeOrder::kRank;
    EXPECT_TRUE(parse_order(order_name(static_cast<ExchangeOrder>(i)), &parsed));
    EXPECT_EQ(parsed, static_cast<ExchangeOrder>(i));
  }
  ExchangeOrder untouched = ExchangeOrder::kPairwise;
  for (const char* name : {"", "ranks", "Rank", "nd_", "0"}) EXPECT_FALSE(parse_order(name, &untouched));
  EXPECT_EQ(untouched, ExchangeOrder::kPairwise);
}

TEST(ExchangeOrder, ThePapersExample) {
  const Ranks blocks = {0, 0, 0, 0, 1, 1, 1, 1};
  EXPECT_EQ(order_of(ExchangeOrder::kRank, blocks, 1), (Ranks{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(order_of(ExchangeOrder::kPairwise, blocks, 1), (Ranks{1, 2, 3, 4, 5, 6, 7, 0}));
  EXPECT_EQ(order_of(ExchangeOrder::kNodeShift, blocks, 1), (Ranks{4, 5, 6, 7, 0, 1, 2, 3}));
  EXPECT_EQ(order_of(ExchangeOrder::kNodeRankShift, blocks, 1), (Ranks{5, 6, 7, 4, 1, 2, 3, 0}));
}

TEST(ExchangeOrder, RoundRobin) {
  const Ranks robin = {0, 1, 0, 1, 0, 1, 0, 1};
  EXPECT_EQ(order_of(ExchangeOrder::kPairwise, robin, 3), (Ranks{3, 4, 5, 6, 7, 0, 1, 2}));
  EXPECT_EQ(order_of(ExchangeOrder::kNodeShift, robin, 3), (Ranks{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(order_of(ExchangeOrder::kNodeRankShift, robin, 3), (Ranks{2, 4, 6, 0, 3, 5, 7, 1}));
}

TEST(ExchangeOrder, NodesOfUnevenSize) {
  const Ranks uneven = {0, 0, 0, 1, 2, 2};
  EXPECT_EQ(order_of(ExchangeOrder::kNodeShift, uneven, 2), (Ranks{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(order_of(ExchangeOrder::kNodeRankShift, uneven, 2), (Ranks{3, 4, 5, 2, 0, 1}));
  EXPECT_EQ(order_of(ExchangeOrder::kNodeRankShift, uneven, 1), (Ranks{3, 5, 4, 1, 2, 0}));
  EXPECT_EQ(order_of(ExchangeOrder::kNodeRankShift, uneven, 5), (Ranks{1, 2, 0, 3, 5, 4}));
}

/// Algorithms 1 and 2, line by line.
Ranks as_in_the_paper(const Ranks& node_id, int nr_nodes, int rank, bool rotated) {
  Ranks comm_ranklist;
  const auto nprocs = static_cast<int>(node_id.size());
  const int my_node_id = node_id[static_cast<std::size_t>(rank)];
  const auto my_node_rank = static_cast<int>(std::count(node_id.begin(), node_id.begin() + rank, my_node_id));
  for (int i = 0; i < nr_nodes; ++i) {
    const int dest_node_id = (my_node_id + i + 1) % nr_nodes;
    Ranks candidates;
    for (int j = 0; j < nprocs; ++j) {
      if (node_id[static_cast<std::size_t>(j)] == dest_node_id) candidates.push_back(j);
    }
    const auto dest_node_nprocs = static_cast<int>(candidates.size());
    for (int j = 0; j < dest_node_nprocs; ++j) {
      const int at = rotated ? (my_node_rank + j) % dest_node_nprocs : j;
      comm_ranklist.push_back(candidates[static_cast<std::size_t>(at)]);
    }
  }
  return comm_ranklist;
}

/// Random placements of up to 24 ranks, the nodes numbered by their least rank.
TEST(ExchangeOrder, AnyPlacementFollowsTheAlgorithms) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const int size = 1 + static_cast<int>(random() % 24);
    const int nodes_max = 1 + static_cast<int>(random() % 6);
    Ranks names;
    Ranks nodes;
    for (int rank = 0; rank < size; ++rank) {
      const auto name = static_cast<int>(random() % static_cast<unsigned>(nodes_max));
      const auto found = std::find(names.begin(), names.end(), name);
      nodes.push_back(static_cast<int>(found - names.begin()));
      if (found == names.end()) names.push_back(name);
    }
    const auto nr_nodes = static_cast<int>(names.size());
    for (int rank = 0; rank < size; ++rank) {
      EXPECT_EQ(order_of(ExchangeOrder::kNodeShift, nodes, rank),
                as_in_the_paper(nodes, nr_nodes, rank, false));
      EXPECT_EQ(order_of(ExchangeOrder::kNodeRankShift, nodes, rank),
                as_in_the_paper(nodes, nr_nodes, rank, true));
      for (int order = 0; order < kExchangeOrders; ++order) {
        Ranks all = order_of(static_cast<ExchangeOrder>(order), nodes, rank);
        std::sort(all.begin(), all.end());
        for (int i = 0; i < size; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)], i);
      }
    }
  }
}

// ----- weighted --------------------------------------------------------------------------------------------

TEST(WeightedOrder, EvenAmountsGoAsNodeRankShift) {
  const Ranks nodes = {0, 0, 1, 1, 2, 2, 3, 3};
  const Ranks aggregators = {0, 2, 4, 6, 1, 3, 5, 7};
  const std::vector<Count> bytes(64, 3744);
  for (const bool to_ranks : {false, true}) {
    const CycleAmounts amounts{aggregators, bytes, to_ranks};
    for (int rank = 0; rank < 8; ++rank) {
      const NodeMap map(nodes, rank);
      EXPECT_EQ(exchange_order(ExchangeOrder::kWeighted, map, rank, amounts),
                exchange_order(ExchangeOrder::kNodeRankShift, map, rank, amounts));
    }
  }
}

/// Five nodes of one rank, of which two aggregate. Shifting, ranks 1 to 4 all begin at rank 0, and rank 1 has
/// next to nothing to do meanwhile.
struct TwoAggregators {
  Ranks nodes = {0, 1, 2, 3, 4};
  Ranks aggregators = {0, 1};
  std::vector<Count> bytes = std::vector<Count>(10, 100);

  Ranks order(int rank, bool to_ranks) const {
    return exchange_order(ExchangeOrder::kWeighted, NodeMap(nodes, rank), rank,
                          {aggregators, bytes, to_ranks});
  }
};

TEST(WeightedOrder, HalfBeginElsewhere) {
  const TwoAggregators world;
  EXPECT_EQ(world.order(2, false), (Ranks{0, 1, 3, 4, 2}));
  EXPECT_EQ(world.order(3, false), (Ranks{1, 0, 4, 2, 3}));
  EXPECT_EQ(world.order(4, false), (Ranks{0, 1, 2, 3, 4}));
  EXPECT_EQ(world.order(0, false), (Ranks{1, 2, 3, 4, 0}));
}

/// Reading turns the amounts round. The two senders shift, and do not meet.
TEST(WeightedOrder, AggregatorsSendWhenReading) {
  const TwoAggregators world;
  EXPECT_EQ(world.order(0, true), (Ranks{1, 2, 3, 4, 0}));
  EXPECT_EQ(world.order(1, true), (Ranks{2, 3, 4, 0, 1}));
  EXPECT_EQ(world.order(3, true), (Ranks{0, 1, 4, 2, 3}));
}

TEST(WeightedOrder, WhatHasNothingComesLast) {
  const Ranks nodes = {0, 0, 1, 1, 2, 2};
  const Ranks aggregators = {0, 2, 3, 4};
  std::vector<Count> bytes(24, 0);
  bytes[0] = 7;    // rank 0, for itself
  bytes[2] = 100;  // rank 0, for rank 3
  bytes[18] = 1;   // rank 4, for rank 3
  const CycleAmounts amounts{aggregators, bytes};
  EXPECT_EQ(exchange_order(ExchangeOrder::kWeighted, NodeMap(nodes, 0), 0, amounts),
            (Ranks{3, 0, 2, 4, 5, 1}));
}

}  // namespace
}  // namespace tasuki

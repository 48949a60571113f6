// Shows that a NodeMap numbers nodes by their least rank, whatever the placement, and that communicators that
// are subsets, reversed or duplicates get the map that follows from where their members are.
#include "placement/node_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "communicator/api.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

using test::run_ranks;

std::vector<int> list(std::span<const int> ranks) {
  return {ranks.begin(), ranks.end()};
}

TEST(NodeMap, OneNode) {
  const std::vector<int> numbers = {7, 7, 7};
  const NodeMap map(numbers, 1);
  EXPECT_EQ(map.nodes(), 1);
  EXPECT_EQ(map.size(), 3);
  EXPECT_EQ(list(map.ranks_of(0)), (std::vector{0, 1, 2}));
  EXPECT_EQ(map.own_node(), 0);
  EXPECT_EQ(map.index_of(1), 1);
  EXPECT_TRUE(map.is_uniform());
  EXPECT_TRUE(map.is_consecutive());
}

TEST(NodeMap, NodesAreNumberedByTheirLeastRank) {
  const std::vector<int> numbers = {5, 2, 5, 9, 2, 5};
  const NodeMap map(numbers, 4);
  EXPECT_EQ(map.nodes(), 3);
  EXPECT_EQ(list(map.ranks_of(0)), (std::vector{0, 2, 5}));
  EXPECT_EQ(list(map.ranks_of(1)), (std::vector{1, 4}));
  EXPECT_EQ(list(map.ranks_of(2)), (std::vector{3}));
  EXPECT_EQ(map.leaders(), (std::vector{0, 1, 3}));
  EXPECT_EQ(list(map.ranks_by_node()), (std::vector{0, 2, 5, 1, 4, 3}));
  EXPECT_EQ(map.own_node(), 1);
  EXPECT_EQ(list(map.own_ranks()), (std::vector{1, 4}));
  EXPECT_EQ(map.index_of(5), 2);
  EXPECT_EQ(map.largest(), 3);
  EXPECT_EQ(map.smallest(), 1);
  EXPECT_FALSE(map.is_uniform());
  EXPECT_FALSE(map.is_consecutive());
}

/// Every placement of up to six ranks on up to four nodes, against what the words say.
TEST(NodeMap, EveryPlacement) {
  for (int size = 1; size <= 6; ++size) {
    const int placements = 1 << 2 * size;
    for (int placement = 0; placement < placements; ++placement) {
      std::vector<int> numbers;
      for (int rank = 0; rank < size; ++rank) numbers.push_back(placement >> 2 * rank & 3);
      const NodeMap map(numbers, size - 1);
      int seen = 0;
      int leader_before = -1;
      for (int node = 0; node < map.nodes(); ++node) {
        const std::vector<int> ranks = list(map.ranks_of(node));
        ASSERT_FALSE(ranks.empty());
        EXPECT_TRUE(std::is_sorted(ranks.begin(), ranks.end()));
        EXPECT_EQ(map.leader_of(node), ranks.front());
        EXPECT_LT(leader_before, ranks.front());
        leader_before = ranks.front();
        for (std::size_t i = 0; i < ranks.size(); ++i) {
          EXPECT_EQ(numbers[static_cast<std::size_t>(ranks[i])], numbers[static_cast<std::size_t>(ranks[0])]);
          EXPECT_EQ(map.node_of(ranks[i]), node);
          EXPECT_EQ(map.index_of(ranks[i]), static_cast<int>(i));
        }
        seen += static_cast<int>(ranks.size());
      }
      EXPECT_EQ(seen, size);
      EXPECT_EQ(map.nodes(), static_cast<int>(std::set<int>(numbers.begin(), numbers.end()).size()));
    }
  }
}

TEST(NodeMap, OfCommunicators) {
  const std::vector<int> nodes = {0, 1, 0, 1, 2};
  run_ranks(5,
            [&](Process& process) {
              Comm* world = process.objects->world;
              EXPECT_EQ(node_map(*world).nodes(), 3);
              EXPECT_EQ(node_map(*world).leaders(), (std::vector{0, 1, 4}));
              EXPECT_EQ(node_map(*world).own_node(), nodes[static_cast<std::size_t>(process.rank)]);
              EXPECT_EQ(&node_map(*world), &node_map(*world));  // made once
              EXPECT_EQ(node_map(*process.objects->self).nodes(), 1);
              Comm* reversed = nullptr;
              ASSERT_EQ(api::comm_split(process, world, 0, -process.rank, &reversed), kSuccess);
              EXPECT_EQ(node_map(*reversed).own_node(), 2 - nodes[static_cast<std::size_t>(process.rank)]);
              EXPECT_EQ(list(node_map(*reversed).ranks_of(1)), (std::vector{1, 3}));
              api::comm_free(process, &reversed);
              Comm* even = nullptr;
              ASSERT_EQ(api::comm_split(process, world, process.rank % 2, 0, &even), kSuccess);
              EXPECT_EQ(node_map(*even).nodes(), process.rank % 2 == 0 ? 2 : 1);
              api::comm_free(process, &even);
            },
            {.nodes = nodes});
}

}  // namespace
}  // namespace tasuki

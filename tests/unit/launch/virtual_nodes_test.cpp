// Dealing ranks to virtual nodes is fair in either order; times and rates are read with their units, and what
// is none is refused.
#include "launch/mapping/virtual_nodes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tasuki::launch {
namespace {

TEST(Nodes, Orders) {
  EXPECT_EQ(plan_nodes(5, 2, NodeOrder::kBlock), (std::vector{0, 0, 0, 1, 1}));
  EXPECT_EQ(plan_nodes(5, 2, NodeOrder::kCyclic), (std::vector{0, 1, 0, 1, 0}));
  EXPECT_EQ(plan_nodes(3, 1, NodeOrder::kCyclic), (std::vector{0, 0, 0}));
}

TEST(Nodes, EveryNodeGetsItsShare) {
  for (int ranks = 1; ranks <= 20; ++ranks) {
    for (int nodes = 1; nodes <= ranks; ++nodes) {
      for (const NodeOrder order : {NodeOrder::kBlock, NodeOrder::kCyclic}) {
        const std::vector<int> plan = plan_nodes(ranks, nodes, order);
        ASSERT_EQ(plan.size(), static_cast<std::size_t>(ranks));
        EXPECT_EQ(std::is_sorted(plan.begin(), plan.end()),
                  order == NodeOrder::kBlock || nodes == 1 || nodes == ranks);
        for (int node = 0; node < nodes; ++node) {
          const auto count = std::count(plan.begin(), plan.end(), node);
          EXPECT_TRUE(count == ranks / nodes || count == (ranks + nodes - 1) / nodes)
              << ranks << '/' << nodes;
        }
      }
    }
  }
}

TEST(Nodes, Latency) {
  const auto read = [](const char* word) {
    std::int64_t nanoseconds = -1;
    return parse_latency(word, &nanoseconds) ? nanoseconds : -1;
  };
  EXPECT_EQ(read("0ns"), 0);
  EXPECT_EQ(read("1.5us"), 1500);
  EXPECT_EQ(read("2ms"), 2'000'000);
  EXPECT_EQ(read("1s"), 1'000'000'000);
  for (const char* bad : {"", "us", "1.5", "1.5 us", "1.5usec", "-1us", "nan", "infs", "1.1s", "1e300s"})
    EXPECT_EQ(read(bad), -1) << bad;
}

TEST(Nodes, Bandwidth) {
  const auto read = [](const char* word) {
    std::int64_t rate = -1;
    return parse_bandwidth(word, &rate) ? rate : -1;
  };
  EXPECT_EQ(read("5GB/s"), 5000);
  EXPECT_EQ(read("12.5GB/s"), 12500);
  EXPECT_EQ(read("400MB/s"), 400);
  EXPECT_EQ(read("1TB/s"), 1'000'000);
  EXPECT_EQ(read("unlimited"), 0);
  for (const char* bad : {"", "5", "5GB", "0GB/s", "0.1MB/s", "-5GB/s", "2TB/s", "5Gb/s", "infGB/s"})
    EXPECT_EQ(read(bad), -1) << bad;
}

}  // namespace
}  // namespace tasuki::launch

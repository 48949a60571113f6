// The cost formulas of the multi-direction algorithms reproduce the published estimates for 384 nodes of a
// torus: throughput B' for long messages and start-up time t_L, which the formulas give as slope and
// intercept.
#include <gtest/gtest.h>

#include "coll/pipeline/multi_direction.hpp"
#include "coll/pipeline/throughput.hpp"

namespace tasuki::test {
namespace {

// Microseconds, and bytes per microsecond, that is MB/s.
constexpr int kNodes = 384;
constexpr double kSegmentBytes = 16 * 1024;
constexpr double kStart = 8.0 + 1.7;  // t_O, of which 7.6 to 8.4 are known, and t_S
constexpr LinkTimes kLinks{
    .software = 1.0, .latency = 0.6, .bytes_per_time = 5000, .reduced_bytes_per_time = 4000, .start = kStart};

struct Line {
  double slope;      // bytes in the time of one
  double intercept;  // time
};

/// The straight line that a formula is for long messages.
template <class Time>
Line line_of(Time&& time) {
  const double first = 1e8, second = 3e8;
  const double per_byte = (time(second) - time(first)) / (second - first);
  return {1 / per_byte, time(first) - per_byte * first};
}

void expect_near(double is, double says, double share) {
  EXPECT_NEAR(is, says, share * says);
}

Line bcast_line(const Grid& grid) {
  return line_of([&](double bytes) {
    return pipelined_bcast_time(direction_hops(grid), grid.dimensions, bytes, kSegmentBytes, kLinks);
  });
}

TEST(Throughput, Bcast) {
  const Line chain = bcast_line({1, {kNodes, 1, 1}});
  expect_near(chain.slope, 4226, 0.001);
  expect_near(chain.intercept, 1874, 0.001);
  const Line plane = bcast_line({2, {64, 6, 1}});
  expect_near(plane.slope, 8452, 0.001);
  expect_near(plane.intercept, 411, 0.003);
  const Line space = bcast_line({3, {8, 6, 8}});
  expect_near(space.slope, 12680, 0.001);
  expect_near(space.intercept, 143, 0.01);
}

TEST(Throughput, Allreduce) {
  const Grid grid{3, {8, 6, 8}};
  LinkTimes back = kLinks;
  back.start = 1.7;
  const Line line = line_of([&](double bytes) {
    return pipelined_reduce_time(direction_hops(grid), 3, bytes, kSegmentBytes, kLinks) +
           pipelined_bcast_time(direction_hops(grid), 3, bytes, kSegmentBytes, back);
  });
  expect_near(2 * line.slope, 5129, 0.01);
  expect_near(line.intercept, 513, 0.02);
}

TEST(Throughput, Allgather) {
  LinkTimes links = kLinks;
  links.node_bytes_per_time = 15000;  // of the node's interfaces, which four directions share
  const auto time = [&](double bytes) { return multi_ring_time(kNodes, 3, 4, bytes, links); };
  // Long blocks: the whole of the result by the time.
  const Line line = line_of(time);
  expect_near(line.slope * kNodes, 15040, 0.001);
  expect_near(line.intercept, 252, 0.01);
  // Short blocks, below the crossover of 49.8 KiB, are bound by the processor.
  const double per_byte = (time(2e4) - time(1e4)) / 1e4;
  expect_near(kNodes / per_byte, 15000.0 * kNodes / 3, 0.001);
  expect_near(time(1e4) - per_byte * 1e4, 1544, 0.001);
  const double crossover = 15000 * (4 * kLinks.software - kLinks.latency);
  expect_near(crossover / 1024, 49.8, 0.001);
  const auto slope_at = [&](double bytes) { return time(bytes + 1) - time(bytes); };
  EXPECT_LT(slope_at(crossover - 2), slope_at(crossover + 1) / 10);
}

}  // namespace
}  // namespace tasuki::test

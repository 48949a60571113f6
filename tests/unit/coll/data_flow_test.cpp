// Which steps of a schedule wait for which, and how far a rank runs ahead that follows data. That all
// algorithms give the same by data as by rounds is tested wherever they run on the simulated machine
// (simulation.hpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "coll/algorithm/algorithms.hpp"
#include "coll/pipeline/pipeline.hpp"
#include "coll/schedule/data_flow.hpp"

namespace tasuki {
namespace {

using Steps = std::vector<std::uint32_t>;

constexpr ElementType kBytes = ElementType::kBytes;
constexpr Place kRoom{Space::kScratch, 0}, kOtherRoom{Space::kScratch, 100};

TypeShape shape_of_bytes(ElementType, int) {
  return {};
}

Dependencies dependencies_of(const Schedule& schedule, const ShapeOf& shape_of = shape_of_bytes) {
  Dependencies found;
  found.find(schedule, shape_of);
  return found;
}

Steps after(const Dependencies& found, std::size_t step) {
  const auto steps = found.after(step);
  Steps sorted(steps.begin(), steps.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

TEST(Dependencies, AStepWaitsForItsDataAndItsRoom) {
  Schedule schedule;
  schedule.receive(kRoom, 10, kBytes, 1);  // 0
  schedule.end_round();
  schedule.send(kRoom, 10, kBytes, 2);             // 1: what 0 brings
  schedule.send({Space::kSend, 0}, 5, kBytes, 3);  // 2: anything else
  schedule.end_round();
  schedule.receive(kRoom + 9, 10, kBytes, 1);  // 3: into room that 1 sends from
  schedule.end_round();
  schedule.copy(kRoom, 9, kBytes, kOtherRoom, 9, kBytes);  // 4: reads, as 1 does, what 0 brings
  schedule.end_round();
  const Dependencies found = dependencies_of(schedule);
  EXPECT_EQ(after(found, 0), (Steps{1, 3, 4}));
  EXPECT_EQ(after(found, 1), (Steps{3}));
  EXPECT_EQ(after(found, 2), Steps{});
  EXPECT_EQ(after(found, 3), Steps{});
  EXPECT_EQ(found.waits(3), 2U);
  EXPECT_EQ(found.waits(4), 1U);
  EXPECT_EQ(found.waits(2), 0U);
}

TEST(Dependencies, ALaterWriterStandsForTheEarlierOnes) {
  Schedule schedule;
  for (int number = 0; number < 3; ++number) {
    schedule.receive(kRoom, 8, kBytes, 1);
    schedule.end_round();
  }
  const Dependencies found = dependencies_of(schedule);
  EXPECT_EQ(after(found, 0), (Steps{1}));
  EXPECT_EQ(after(found, 1), (Steps{2}));
}

// Elements with gaps, one inside the gaps of another: both would wait for ever if they waited for one
// another's messages within a round. What follows waits for both, and they for what was before.
TEST(Dependencies, MessagesOfOneRoundDoNotWaitForOneAnother) {
  const auto gaps = [](ElementType, int) {
    return TypeShape{.size = 4, .extent = 16, .true_lb = 0, .true_extent = 4, .contiguous = false};
  };
  Schedule schedule;
  schedule.receive(kRoom, 4, ElementType::kReceiveType, 1);  // 0
  schedule.end_round();
  schedule.receive(kRoom + 4, 4, ElementType::kReceiveType, 1);  // 1
  schedule.receive(kRoom + 8, 4, ElementType::kReceiveType, 2);  // 2
  schedule.end_round();
  schedule.send(kRoom, 4, ElementType::kReceiveType, 3);  // 3
  schedule.end_round();
  const Dependencies found = dependencies_of(schedule, gaps);
  EXPECT_EQ(found.waits(1), 1U);
  EXPECT_EQ(found.waits(2), 1U);
  const Steps after_first = after(found, 0);
  EXPECT_TRUE(std::find(after_first.begin(), after_first.end(), 2) != after_first.end());
  EXPECT_EQ(after(found, 1), (Steps{3}));
  EXPECT_EQ(after(found, 2), (Steps{3}));
}

TEST(Dependencies, MessagesWithOneRankStartInTheirOrder) {
  Schedule schedule;
  schedule.send(kRoom, 1, kBytes, 1);              // 0
  schedule.receive(kOtherRoom, 1, kBytes, 1);      // 1
  schedule.send(kRoom, 1, kBytes, 2);              // 2
  schedule.send(kRoom, 1, kBytes, 1);              // 3
  schedule.receive(kOtherRoom + 1, 1, kBytes, 1);  // 4
  schedule.end_round();
  const Dependencies found = dependencies_of(schedule);
  EXPECT_EQ(found.next_message(0), 3U);
  EXPECT_EQ(found.next_message(1), 4U);
  EXPECT_EQ(found.next_message(2), Dependencies::kNone);
  EXPECT_EQ(found.next_message(3), Dependencies::kNone);
}

/// A rank amid a chain: it hands on what it receives.
Schedule amid_chain(int segments) {
  constexpr Count kSegment = 10;
  Schedule schedule;
  bcast_chain(schedule, {1, 3}, 0, {.element = kBytes, .count = segments * kSegment}, kSegment);
  return schedule;
}

/// What may start; it counts as started.
std::vector<Step> start_all(DataFlow& flow, const Schedule& schedule, std::size_t* under_way,
                            Steps* started) {
  std::vector<Step> steps;
  for (std::uint32_t step; flow.next(*under_way, &step); ++*under_way) {
    steps.push_back(schedule.steps[step]);
    started->push_back(step);
  }
  return steps;
}

TEST(DataFlow, ReceivesSegmentsWhileAnEarlierOneHasNotLeft) {
  const Schedule schedule = amid_chain(4);
  EXPECT_TRUE(schedule.follows_data);
  DataFlow flow;
  flow.prepare(schedule, shape_of_bytes);
  flow.begin();
  std::size_t under_way = 0;
  Steps started;
  const auto receives = start_all(flow, schedule, &under_way, &started);
  ASSERT_EQ(receives.size(), 4U) << "all have room";
  for (const Step& step : receives) EXPECT_EQ(step.action, Step::Action::kReceive);
  for (const std::uint32_t receive : Steps(started)) {
    flow.over(receive);
    --under_way;
    const auto sends = start_all(flow, schedule, &under_way, &started);
    ASSERT_EQ(sends.size(), 1U) << "though none before has left";
    EXPECT_EQ(sends[0].action, Step::Action::kSend);
  }
  EXPECT_FALSE(flow.is_over());
  for (std::size_t number = 4; number < started.size(); ++number) flow.over(started[number]);
  EXPECT_TRUE(flow.is_over());
}

TEST(DataFlow, RunsAheadWithinBounds) {
  const Schedule schedule = amid_chain(100);
  DataFlow flow;
  flow.prepare(schedule, shape_of_bytes);
  flow.begin();
  std::size_t under_way = 0;
  Steps started;
  start_all(flow, schedule, &under_way, &started);
  EXPECT_EQ(started.size(), DataFlow::kRoundsAhead + 1);
  flow.over(started[0]);
  --under_way;
  EXPECT_EQ(start_all(flow, schedule, &under_way, &started).size(), 2U) << "the send, and one receive more";

  flow.begin();
  under_way = DataFlow::kMessagesMax;
  started.clear();
  start_all(flow, schedule, &under_way, &started);
  EXPECT_EQ(started.size(), 1U) << "the oldest round goes on in any case";
}

TEST(DataFlow, OfNoStepsIsOver) {
  DataFlow flow;
  const Schedule schedule;
  flow.prepare(schedule, shape_of_bytes);
  flow.begin();
  std::uint32_t step;
  EXPECT_FALSE(flow.next(0, &step));
  EXPECT_TRUE(flow.is_over());
}

// However often the schedule is run: one start that was not brought to its end leaves nothing behind.
TEST(DataFlow, BeginsAnewWithWhatItWasPreparedFor) {
  const Schedule schedule = amid_chain(20);
  DataFlow flow;
  int looks = 0;
  flow.prepare(schedule, [&](ElementType, int) {
    ++looks;
    return TypeShape{};
  });
  const int looks_of_one = looks;
  std::vector<Steps> orders;
  for (const std::size_t steps_max : {3, 1000, 1000}) {
    flow.begin();
    Steps& order = orders.emplace_back();
    for (std::uint32_t step; order.size() < steps_max && flow.next(0, &step);) {
      order.push_back(step);
      flow.over(step);
    }
    EXPECT_EQ(flow.is_over(), steps_max > 3);
  }
  EXPECT_EQ(orders[2], orders[1]);
  EXPECT_EQ(orders[2].size(), schedule.steps.size());
  EXPECT_EQ(looks, looks_of_one);
}

// One segment has nothing to gain.
TEST(DataFlow, IsForPipelinesOfSeveralSegments) {
  EXPECT_FALSE(amid_chain(1).follows_data);
  EXPECT_TRUE(amid_chain(2).follows_data);
}

// One round has nothing to wait for.
TEST(DataFlow, IsForAllToAllsOfSeveralRounds) {
  const auto follows = [](int size, Count window_bytes) {
    Schedule schedule;
    const Blocks out{.space = Space::kSend, .element = kBytes, .count = 8};
    const Blocks in{.element = kBytes, .count = 8};
    alltoall_pairwise(schedule, {1, size}, out, in, window_bytes);
    return schedule.follows_data;
  };
  EXPECT_FALSE(follows(2, 1));
  EXPECT_TRUE(follows(3, 1));
  EXPECT_FALSE(follows(3, 1000));
}

}  // namespace
}  // namespace tasuki

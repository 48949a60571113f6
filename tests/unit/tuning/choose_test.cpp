// The choice among candidates, on made-up costs; and what holds for all candidates that there are: valid ones
// only, whatever is wanted, and predictions that grow with the bytes.
#include "tuning/choose.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "coll/choice/registry.hpp"
#include "tuning/cost.hpp"
#include "tuning/processors.hpp"

namespace tasuki {
namespace {

bool always(const Problem&) {
  return true;
}
bool when_it_commutes(const Problem& problem) {
  return problem.commutative;
}
bool never(const Problem&) {
  return false;
}

/// 1000 for its start and one nanosecond for each byte.
double by_bytes(const Problem& problem, const Parameters&, Count) {
  return 1000 + static_cast<double>(problem.bytes);
}
double slow_start(const Problem& problem, const Parameters&, Count) {
  return 5000 + static_cast<double>(problem.bytes) / 10;
}
double in_segments(const Problem& problem, const Parameters&, Count segment_bytes) {
  const auto segment = static_cast<double>(segment_bytes);
  return 200 * static_cast<double>(problem.bytes) / segment + segment;
}

constexpr Count kSegments[] = {1024, 4096, 16384};

constexpr Candidate kShort{10, always, by_bytes};
constexpr Candidate kLong{11, when_it_commutes, slow_start};
constexpr Candidate kPipelined{12, always, in_segments, kSegments};
constexpr Candidate kImpossible{13, never, [](const Problem&, const Parameters&, Count) { return 0.0; }};

Selection select(std::vector<Candidate> candidates, const Problem& problem, const Wanted& wanted = {}) {
  return choose(std::span<const Candidate>(candidates), problem, Parameters{}, wanted);
}

TEST(ChooseTest, TheCheapestWinsAndTheNextIsTheRunnerUp) {
  Selection selection = select({kShort, kLong}, {.bytes = 100});
  EXPECT_EQ(selection.algorithm, 10);
  EXPECT_EQ(selection.place, 0);
  EXPECT_EQ(selection.predicted_ns, 1100);
  EXPECT_EQ(selection.runner_up, 11);
  EXPECT_EQ(selection.runner_up_ns, 5010);
  selection = select({kShort, kLong}, {.bytes = 100000});
  EXPECT_EQ(selection.algorithm, 11);
  EXPECT_EQ(selection.place, 1);
  EXPECT_EQ(selection.runner_up, 10);
  EXPECT_FALSE(selection.wanted);
}

TEST(ChooseTest, OfEqualsTheFirstWins) {
  Candidate same = kShort;
  same.algorithm = 20;
  const Selection selection = select({same, kShort}, {.bytes = 8});
  EXPECT_EQ(selection.algorithm, 20);
  EXPECT_EQ(selection.runner_up, 10);
}

TEST(ChooseTest, WhatIsNotValidIsNeverChosen) {
  const Selection selection =
      select({kImpossible, kShort, kLong}, {.bytes = 1 << 20, .commutative = false}, {.algorithm = 13});
  EXPECT_EQ(selection.algorithm, 10);
  EXPECT_EQ(selection.place, 1);
  EXPECT_FALSE(selection.wanted);
  EXPECT_EQ(selection.runner_up, Selection::kNone);
  EXPECT_EQ(select({kImpossible}, {}).place, Selection::kNone);
}

TEST(ChooseTest, TheWantedOneWinsWhereverItStands) {
  for (const auto& order : {std::vector{kLong, kShort, kPipelined}, std::vector{kShort, kPipelined, kLong},
                            std::vector{kPipelined, kLong, kShort}}) {
    const Selection selection = select(order, {.bytes = 8}, {.algorithm = 11});
    EXPECT_EQ(selection.algorithm, 11);
    EXPECT_TRUE(selection.wanted);
    EXPECT_EQ(selection.runner_up, 10);  // the cheapest of the others
    EXPECT_EQ(selection.runner_up_ns, 1008);
  }
}

TEST(ChooseTest, TheBestSegmentsAreFound) {
  EXPECT_EQ(select({kPipelined}, {.bytes = 1 << 20}).segment_bytes, 16384);
  EXPECT_EQ(select({kPipelined}, {.bytes = 1 << 16}).segment_bytes, 4096);
  EXPECT_EQ(select({kPipelined}, {.bytes = 1 << 10}).segment_bytes, 1024);
  const Selection wanted = select({kPipelined}, {.bytes = 1 << 20}, {.segment_bytes = 500});
  EXPECT_EQ(wanted.segment_bytes, 500);
  EXPECT_EQ(wanted.predicted_ns, in_segments({.bytes = 1 << 20}, {}, 500));
  EXPECT_EQ(select({kShort}, {.bytes = 8}, {.segment_bytes = 500}).segment_bytes, 0);
}

const Parameters kSimple{.cache = {100, 50, 2, 1, 30},
                         .network = {1000, 500, 1, 1, 0},
                         .long_bytes = 20,
                         .plan_ns = 5,
                         .reduced_bytes_per_ns = 4,
                         .copied_bytes_per_ns = 2,
                         .travelled_bytes_per_ns = 8,
                         .cache_bytes = 150,
                         .node_bytes_per_ns = 8,
                         .flag_read_ns = 6,
                         .turn_ns = 7};
const Cost kSome{.steps = 3,
                 .messages = 4,
                 .bytes = 40,
                 .total_bytes = 80,
                 .reduced_bytes = 16,
                 .total_reduced_bytes = 32,
                 .copied_bytes = 10};

TEST(CostTest, EachPartIsPricedByItsParameter) {
  Problem problem{.operation = Operation::kAllreduce, .size = 4, .node_ranks_max = 4};
  // A plan and its copies, messages and their first lines, bytes and their way between processors,
  // reductions, and latencies.
  EXPECT_DOUBLE_EQ(cost_ns(kSome, problem, kSimple), 5 + 5 + 300 + 18 + 40 + 5 + 4 + 150);
  problem.processors = 16;
  EXPECT_DOUBLE_EQ(cost_ns(kSome, problem, kSimple), 5 + 5 + 300 + 18 + 40 + 5 + 4 + 150);
  problem.processors = 2;  // two ranks each: half of the eight ends of messages, and each step a turn
  // Two of three messages go to the other processor.
  EXPECT_DOUBLE_EQ(cost_ns(kSome, problem, kSimple),
                   2 * (5 + 5) + 400 + 80 + (18 + 10) * 2.0 / 3 + 4 + 3 * 57);
  problem.processors = 1;  // nothing travels
  EXPECT_DOUBLE_EQ(cost_ns(kSome, problem, kSimple), 4 * (5 + 5) + 800 + 160 + 8 + 3 * 71);
  problem.processors = 0;
  // Two of a rank's three partners are on the other node. A network carries both ways at once.
  problem.nodes = problem.node_ranks_max = 2;
  Parameters no_limit = kSimple;
  no_limit.network_node_bytes_per_ns = 1e300;
  EXPECT_DOUBLE_EQ(cost_ns(kSome, problem, no_limit),
                   5 + 5 + (3000 + 40) * 2.0 / 3 + (300 + 18 + 40 + 5) / 3.0 + 4 + 1500);
  problem.nodes = 4;  // each rank is alone
  problem.node_ranks_max = 1;
  EXPECT_DOUBLE_EQ(cost_ns(kSome, problem, no_limit), 5 + 5 + 3000 + 40 + 4 + 1500);
}

TEST(CostTest, TheWayOfABusiestRankIsAsLongAsItsBytes) {
  const Problem problem{.operation = Operation::kBcast, .size = 8, .nodes = 8, .node_ranks_max = 1};
  Parameters parameters = kSimple;
  parameters.network_node_bytes_per_ns = 1e-3;
  // The root of a tree sends three times 20 bytes, all nodes together 140.
  const Cost tree{.steps = 3, .messages = 7, .bytes = 60, .total_bytes = 140, .one_way = true};
  EXPECT_DOUBLE_EQ(cost_ns(tree, problem, parameters), 5 + 60e3);
}

TEST(CostTest, ShortMessagesOfOneWayLeaveANodeTogether) {
  const Problem problem{.operation = Operation::kBcast, .size = 4, .nodes = 4, .node_ranks_max = 1};
  Parameters parameters = kSimple;
  parameters.network_gap_ns = 200;
  Cost cost{.steps = 3, .messages = 4, .bytes = 40, .total_bytes = 80, .one_way = true};
  EXPECT_DOUBLE_EQ(cost_ns(cost, problem, parameters), 5 + 3 * 200 + 40);
  parameters.network_gap_ns = 2000;  // of all ranks of a node: a message alone takes less of its own
  EXPECT_DOUBLE_EQ(cost_ns(cost, problem, parameters), 5 + 3 * 1000 + 40);
  cost.one_way = false;
  parameters.network_gap_ns = 200;
  EXPECT_DOUBLE_EQ(cost_ns(cost, problem, parameters), 5 + 3 * 1000 + 40 + 3 * 500);
}

TEST(CostTest, VirtualNodesShareTheProcessors) {
  // Four nodes of two ranks on a machine of two processors: half a processor for each node.
  EXPECT_EQ(ranks_per_processor({.size = 8, .nodes = 4, .node_ranks_max = 2, .processors = 0.5}), 4);
  EXPECT_EQ(ranks_per_processor({.size = 4, .nodes = 4, .node_ranks_max = 1, .processors = 4}), 1);
}

TEST(CostTest, OneWayOnesWaitForRoomUnlessTheirMessagesAreLong) {
  const Problem problem{.operation = Operation::kAllreduce, .size = 4, .node_ranks_max = 4};
  Cost cost = kSome;
  cost.one_way = true;
  EXPECT_DOUBLE_EQ(cost_ns(cost, problem, kSimple), 5 + 5 + 300 + 18 + 40 + 5 + 4);
  Problem crowded = problem;
  crowded.processors = 2;
  // A turn for half of the messages that a ring has room for.
  const double work = 2 * (5 + 5) + 400 + 80 + (18 + 10) * 2.0 / 3 + 4;
  EXPECT_DOUBLE_EQ(cost_ns(cost, crowded, kSimple), work + 7.0 / 64);
  cost.levels = 4;  // of five ranks one after the other two have had their turns before the data comes
  EXPECT_DOUBLE_EQ(cost_ns(cost, crowded, kSimple), work + 2.5 * 7 / 64);
  Parameters parameters = kSimple;
  parameters.long_bytes = 19;
  const double travels = 40 / 8.0, of_those_away = travels * 2 / 3;
  EXPECT_DOUBLE_EQ(cost_ns(kSome, problem, parameters), 5 + 5 + 3 * 130 + 20 + travels + 4 + 3 * 50);
  EXPECT_DOUBLE_EQ(cost_ns(cost, problem, parameters),
                   5 + 5 + 3 * 130 + 20 + travels + 4 + 2 * 50);  // together
  // One turn, however deep the tree: the others take theirs meanwhile.
  EXPECT_DOUBLE_EQ(cost_ns(cost, crowded, parameters),
                   2 * (5 + 5) + 4 * 130 + 20 + of_those_away + 4 + 2 * 50 + 7);
  // Where a rank alone is slower than messages are, both of a message's ranks have copied it.
  parameters.get_bytes_per_ns = 1;
  EXPECT_DOUBLE_EQ(cost_ns(cost, crowded, parameters),
                   2 * (5 + 5) + 4 * 130 + 40 + of_those_away + 4 + 2 * 50 + 7);
  EXPECT_DOUBLE_EQ(cost_ns(cost, problem, parameters), 5 + 5 + 3 * 130 + 20 + travels + 4 + 2 * 50);
}

TEST(CostTest, WhatIsStreamedTravelsOnce) {
  const Problem problem{.operation = Operation::kBcast, .size = 2, .node_ranks_max = 2};
  const Cost cost{.steps = 1, .messages = 1, .bytes = 400, .total_bytes = 400};
  Parameters parameters = kSimple;
  parameters.cache_bytes = 1e9;
  parameters.streamed_bytes_per_ns = 16;
  const double by_caches = 5 + 130 + 400 / 2.0 + 400 / 8.0 + 50;
  EXPECT_DOUBLE_EQ(cost_ns(cost, problem, parameters), by_caches);
  parameters.cache_copies.stream_bytes_min = 401;
  EXPECT_DOUBLE_EQ(cost_ns(cost, problem, parameters), by_caches);
  parameters.cache_copies.stream_bytes_min = 400;
  EXPECT_DOUBLE_EQ(cost_ns(cost, problem, parameters), 5 + 130 + 400 / 16.0 + 50);
}

TEST(CostTest, TheMakersOfProcessorsDifferInWhatTravels) {
  EXPECT_GT(travel_ns(4096, parameters_of(ProcessorMaker::kAmd)),
            5 * travel_ns(4096, parameters_of(ProcessorMaker::kIntel)));
  EXPECT_EQ(parameters_of(ProcessorMaker::kOther).turn_ns, Parameters{}.turn_ns);
  for (const auto maker : {ProcessorMaker::kIntel, ProcessorMaker::kAmd, ProcessorMaker::kOther})
    EXPECT_EQ(maker_of(maker_text(maker)), maker);
}

TEST(CostTest, WhatTheCachesDoNotHoldTakesTheRateOfTheNode) {
  Problem problem{.operation = Operation::kAllreduce, .size = 4, .bytes = 75, .node_ranks_max = 4};
  const double cached = cost_ns(kSome, problem, kSimple);
  EXPECT_EQ(uncached_share(problem, kSimple), 0);
  problem.bytes = 100;  // in two buffers
  EXPECT_DOUBLE_EQ(uncached_share(problem, kSimple), 0.25);
  EXPECT_DOUBLE_EQ(cost_ns(kSome, problem, kSimple), cached + 0.25 * (80 + 32 + 4 * 10) / 8);
  problem.processors = 2;  // that two ranks share, with their caches
  EXPECT_DOUBLE_EQ(uncached_share(problem, kSimple), 0.625);
}

/// All problems of a small grid that `operation` can have.
std::vector<Problem> grid(Operation operation) {
  std::vector<Problem> problems;
  for (const int size : {1, 2, 3, 4, 7, 8, 16, 33}) {
    for (const int nodes : {1, 2, 5}) {
      if (nodes > size) continue;
      for (int flags = 0; flags < 32; ++flags) {
        for (const Count bytes : {0, 1, 8, 100, 1 << 10, 1 << 14, 1 << 18, 1 << 22}) {
          problems.push_back({.operation = operation,
                              .size = size,
                              .bytes = bytes,
                              .commutative = (flags & 1) != 0,
                              .uniform = (flags & 2) != 0,
                              .in_place = (flags & 4) != 0,
                              .blocking = (flags & 8) != 0,
                              .node_segment = (flags & 8) != 0 && (flags & 16) != 0 && nodes == 1 && size > 1,
                              .nodes = nodes,
                              .node_ranks_max = (size + nodes - 1) / nodes,
                              .consecutive = (flags & 16) != 0,
                              .processors = (flags & 16) != 0 ? 2.0 : 0.0});
        }
      }
    }
  }
  return problems;
}

TEST(RegistryTest, EveryProblemHasAnAlgorithmAndEachPredictionGrowsWithTheBytes) {
  const Parameters parameters;
  for (const OperationRow& row : operation_table()) {
    const Operation operation = operation_of(row);
    const int first = first_algorithm_of(operation);
    const int algorithms = static_cast<int>(algorithms_of(operation).size());
    std::vector<double> before(static_cast<std::size_t>(algorithms), 0);
    for (const Problem& problem : grid(operation)) {
      int valid = 0;
      for (int number = first; number < first + algorithms; ++number) {
        const Candidate& candidate = candidate_of(number);
        double& last = before[static_cast<std::size_t>(number - first)];
        if (problem.bytes == 0) last = 0;
        if (!candidate.valid(problem)) continue;
        ++valid;
        const Count segment = candidate.segments.empty() ? 0 : candidate.segments[0];
        const double ns = candidate.predicted_ns(problem, parameters, segment);
        ASSERT_TRUE(std::isfinite(ns) && ns >= 0) << algorithm_table()[static_cast<std::size_t>(number)].name;
        ASSERT_GE(ns, last * (1 - 1e-9))
            << row.name << " " << algorithm_table()[static_cast<std::size_t>(number)].name << ", "
            << problem.bytes << " bytes, " << problem.size << " ranks";
        last = ns;
      }
      ASSERT_GT(valid, 0) << row.name << " of " << problem.bytes << " bytes, " << problem.size << " ranks";
    }
  }
}

}  // namespace
}  // namespace tasuki

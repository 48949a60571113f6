// Composed algorithms as the registry has them: prices that make sense, hierarchical parts that are
// chosen in their turn and give the right result on every placement, chains that go through the nodes one
// after the other, and grids that follow the communicator's topology.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/predefined.hpp"
#include "base/variables/collective_operations.hpp"
#include "coll/api.hpp"
#include "coll/choice/composed.hpp"
#include "coll/move_cases.hpp"
#include "coll/run/execution.hpp"
#include "communicator/api.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "support/world.hpp"

namespace tasuki::test {
namespace {

/// A problem of ranks on so many nodes.
Problem problem_on(Operation operation, int size, int nodes, Count bytes, bool consecutive = false) {
  return {.operation = operation,
          .size = size,
          .bytes = bytes,
          .nodes = nodes,
          .node_ranks_max = (size + nodes - 1) / nodes,
          .consecutive = consecutive};
}

double price(const Candidate& candidate, const Problem& problem, Count segment_bytes) {
  return candidate.predicted_ns(problem, Parameters{}, candidate.segments.empty() ? 0 : segment_bytes);
}

/// What an algorithm is said to take among `size` ranks grows with the bytes, from 0 on.
void expect_growth(int number, int size, int nodes, double processors, Count segment) {
  const Candidate& candidate = candidate_of(number);
  const AlgorithmRow& row = algorithm_table()[static_cast<std::size_t>(number)];
  double last = 0;
  for (Count bytes = 1; bytes <= 1 << 24; bytes *= 16) {
    Problem problem = problem_on(row.operation, size, nodes, bytes * size);
    problem.processors = processors;
    problem.composed = processors != 0;  // then parts are collectives of their own
    if (!candidate.valid(problem)) continue;
    const double ns = price(candidate, problem, segment);
    EXPECT_TRUE(std::isfinite(ns)) << row.name;
    EXPECT_GE(ns, last) << row.name << " of " << bytes << " bytes among " << size << " on " << nodes
                        << " nodes of " << processors << " processors";
    last = ns;
  }
}

// Virtual nodes have a part of a processor each: a quarter, where eight share two.
TEST(ComposedPrices, GrowWithTheBytes) {
  for (std::size_t number = 0; number < algorithm_table().size(); ++number) {
    for (int size : {1, 2, 3, 8, 12, 64}) {
      if (size > kSimulatedRanksMax) break;
      for (int nodes : {1, 2, (size + 1) / 2, size}) {
        if (nodes > size) continue;
        for (double processors : {0.0, 0.25, 2.0}) {
          for (Count segment : composed::kSegmentsWorthTrying)
            expect_growth(static_cast<int>(number), size, nodes, processors, segment);
        }
      }
    }
  }
}

std::string chosen(const Problem& problem) {
  const Selection best = choose(candidates_of(problem.operation), problem, Parameters{}, {});
  return algorithm_table()[static_cast<std::size_t>(best.algorithm)].name;
}

bool is_hierarchical(const std::string& name) {
  return name == "hierarchical" || name == "lanes";
}

TEST(ComposedPrices, HierarchiesAreChosenWhereTheyPay) {
  EXPECT_EQ(chosen(problem_on(Operation::kBcast, 32, 4, 8)), "hierarchical");
  EXPECT_EQ(chosen(problem_on(Operation::kBarrier, 32, 4, 0)), "hierarchical");
  EXPECT_TRUE(is_hierarchical(chosen(problem_on(Operation::kAllreduce, 32, 4, 8))));
  EXPECT_NE(chosen(problem_on(Operation::kBcast, 4, 4, 8)), "hierarchical");
  EXPECT_NE(chosen(problem_on(Operation::kBcast, 32, 1, 8)), "hierarchical");
  Problem ordered = problem_on(Operation::kAllreduce, 32, 4, 8);
  ordered.commutative = false;
  EXPECT_FALSE(is_hierarchical(chosen(ordered))) << "the order of ranks would be lost";
  ordered.consecutive = true;
  EXPECT_TRUE(is_hierarchical(chosen(ordered)));
}

TEST(ComposedPrices, SeveralDirectionsPayOnANetworkOfLinks) {
  const Problem links = problem_on(Operation::kBcast, 64, 64, 64 << 20);
  EXPECT_EQ(chosen(links), "grid_3");
  Problem line = links;
  line.extents = {64, 0, 0};
  EXPECT_FALSE(composed::is_grid<3>(line)) << "the topology says otherwise";
}

// A node that sends no more in three directions than in one gains nothing by them, but for the shorter way.
TEST(ComposedPrices, SeveralDirectionsShareWhatANodeSends) {
  Parameters shared;
  shared.network_node_bytes_per_ns = shared.network.bytes_per_ns;
  Problem long_one = problem_on(Operation::kBcast, 8, 8, 64 << 20);
  const auto of = [&](int directions, const Parameters& parameters) {
    return composed::bcast_grid_ns(long_one, parameters, 256 << 10, directions);
  };
  EXPECT_LT(of(3, Parameters{}), 0.5 * of(1, Parameters{}));
  EXPECT_GT(of(3, shared), 0.9 * of(1, shared));
  long_one.operation = Operation::kAllgather;
  EXPECT_GT(composed::allgather_multi_ring_ns(long_one, shared, 0),
            0.99 * static_cast<double>(long_one.bytes) * 7 / 8 / shared.network.bytes_per_ns);
}

// On nodes that share processors, too: the first segments of both directions are on their way at once.
TEST(ComposedPrices, DirectionsAreFilledAtTheSameTime) {
  Parameters parameters;
  parameters.network = {1, 1, 1, 1, 1};
  Problem problem = problem_on(Operation::kBcast, 4, 4, 1 << 20);
  problem.processors = 0.5;
  const auto begun = [&](int directions) {
    return composed::bcast_grid_ns(problem, parameters, 64 << 10, directions) - (1 << 20);
  };
  // Three hops either way, the last of the plane around the torus: two segments that others wait for.
  EXPECT_NEAR(begun(2), begun(1), 0.1 * begun(1));
}

// Two ranks have one link, whichever way around the ring a part goes.
TEST(ComposedPrices, BothDirectionsOfTwoRanksShareALink) {
  const Problem two = problem_on(Operation::kAllgather, 2, 2, 8 << 20);
  const double bytes_of_other = static_cast<double>(two.bytes) / 2;
  EXPECT_GT(composed::allgather_multi_ring_ns(two, {}, 0),
            bytes_of_other / Parameters{}.network.bytes_per_ns);
  Problem short_one = two;
  short_one.bytes = 16;
  EXPECT_EQ(chosen(short_one), "recursive_doubling") << "four messages where two do";
}

// Whoever hands segments on receives them, too, and long ones wait for their receives.
TEST(ComposedPrices, SegmentsTakeTheProcessorTwice) {
  Parameters parameters;
  parameters.network = {1000, 10, 1e6, 1e6, 500};
  const Problem chain = problem_on(Operation::kBcast, 4, 4, 64 << 10);
  const double ns = composed::bcast_grid_ns(chain, parameters, 4 << 10, 1);
  EXPECT_NEAR(ns, parameters.plan_ns + 3 * 1010 + 15 * 2000, 10);
  parameters.network_long_bytes = 1000;
  EXPECT_NEAR(composed::bcast_grid_ns(chain, parameters, 4 << 10, 1),
              parameters.plan_ns + 3 * 1510 + 15 * 2500, 10);
}

/// Runs the broadcast of this name from the registry on ranks that are on these nodes.
std::vector<SimulatedRank> run_registered(const char* name, const std::vector<int>& node_of, int root,
                                          Count count, Count segment_bytes) {
  const int size = static_cast<int>(node_of.size());
  const NodeMap map(node_of, 0);
  Problem problem = problem_on(Operation::kBcast, size, map.nodes(), 4 * count, map.is_consecutive());
  problem.node_ranks_max = map.largest();
  const Parameters parameters;
  const Algorithm* entry = nullptr;
  for (const Algorithm& one : candidates_of(Operation::kBcast)) {
    if (std::string(name) == algorithm_table()[static_cast<std::size_t>(one.algorithm)].name) entry = &one;
  }
  if (entry == nullptr) std::abort();
  return run_bcast(Case{size, root, count, kDense},
                   [&](Schedule& schedule, Member self, int from, const Elements& data) {
                     const NodeMap own(node_of, self.rank);
                     entry->schedule(schedule,
                                     {.self = self,
                                      .root = from,
                                      .segment_bytes = segment_bytes,
                                      .nodes = &own,
                                      .problem = &problem,
                                      .parameters = &parameters},
                                     {.elements = data});
                   });
}

TEST(ComposedSchedules, ChainsGoThroughTheNodesInTurn) {
  const std::vector<int> interleaved = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  for (int root = 0; root < 9; ++root) {
    const auto chain = run_registered("chain", interleaved, root, 64, 64);
    // Once from node to node; once more where the root is not its node's first rank.
    const double crossings = root < 3 ? 2 : 3;
    EXPECT_EQ(measure_traffic(chain, interleaved).messages, 4 * crossings);
    run_registered("binary_tree", interleaved, root, 64, 64);
  }
}

TEST(ComposedSchedules, HierarchiesOfChosenParts) {
  const std::vector<int> placements[] = {{0, 1, 2, 0, 1, 2, 0, 1, 2},
                                         {0, 0, 0, 1, 1, 1, 1, 1, 2},
                                         {3, 3, 1, 3, 3, 3, 1},
                                         {0, 0, 1, 1},
                                         {1, 0, 1}};
  const Count long_count = kSanitized ? 5000 : 30000;
  for (const std::vector<int>& node_of : placements) {
    for (int root : {0, static_cast<int>(node_of.size()) - 1}) {
      for (Count count : {Count{1}, Count{1000}, long_count}) {
        const auto ranks = run_registered("hierarchical", node_of, root, count, 0);
        const int nodes = NodeMap(node_of, 0).nodes();
        EXPECT_EQ(measure_traffic(ranks, node_of).bytes, (nodes - 1) * 4.0 * static_cast<double>(count));
      }
    }
  }
}

/// How often the broadcast "grid_2" ran when it was wanted for a broadcast on `comm`.
std::uint64_t grid_broadcasts(Process& process, Comm* comm) {
  int place = 0, number = -1;
  for (const AlgorithmRow& row : algorithms_of(Operation::kBcast)) {
    ++place;
    if (std::string(row.name) != "grid_2") continue;
    number = static_cast<int>(&row - algorithm_table().data());
    process.config.bcast_algorithm = place;
  }
  process.collectives->selector.forget();
  const std::uint64_t before = process.counters.algorithms[number];
  auto* byte = static_cast<Datatype*>(process.objects->predefined[kMpiByte]);
  std::vector<char> data(100, comm->rank == 1 ? 'x' : ' ');
  Request* request = nullptr;
  EXPECT_EQ(api::ibcast(process, data.data(), 100, byte, 1, comm, &request), 0);
  Status status;
  EXPECT_EQ(api::wait(process, &request, &status), 0);
  EXPECT_EQ(std::string(data.begin(), data.end()), std::string(100, 'x'));
  return process.counters.algorithms[number] - before;
}

TEST(ComposedSchedules, GridsFollowTheTopology) {
  run_ranks(6, [](Process& process) {
    Comm* world = process.objects->world;
    EXPECT_EQ(grid_broadcasts(process, world), 1u);
    const int plane[] = {1, 2, 3}, line[] = {6, 1, 1}, periods[] = {0, 0, 0};
    for (const int* dims : {plane, line}) {
      Comm* cart = nullptr;
      ASSERT_EQ(api::cart_create(process, world, 3, dims, periods, false, &cart), 0);
      EXPECT_EQ(grid_broadcasts(process, cart), dims == plane ? 1u : 0u);
      EXPECT_EQ(api::comm_free(process, &cart), 0);
    }
  });
}

}  // namespace
}  // namespace tasuki::test

// The hierarchy of a communicator over several nodes: who gets one and when, that tools do not see it, that
// it goes with its communicator, and that what runs on it is right on placements of all kinds.
#include "coll/hierarchy/communicators.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/predefined.hpp"
#include "base/variables/algorithm_table.hpp"
#include "coll/api.hpp"
#include "coll/choice/registry.hpp"
#include "coll/run/execution.hpp"
#include "communicator/api.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "p2p/core_calls.hpp"
#include "support/world.hpp"

namespace tasuki::test {
namespace {

/// One rank's side of a test, with the algorithm that `operation` is to take.
struct Rank {
  explicit Rank(Process& rank_process) : process(rank_process), world(*process.objects->world) {}

  void want(Operation operation, const std::string& name) {
    const auto rows = algorithms_of(operation);
    std::int64_t place = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (rows[row].name == name) place = static_cast<std::int64_t>(row) + 1;
    }
    ASSERT_NE(place, 0) << name;
    process.config.*operation_row(operation).algorithm = place;
    process.collectives->selector.forget();
    number = first_algorithm_of(operation) + static_cast<int>(place) - 1;
  }
  std::uint64_t times() const { return process.counters.algorithms[number]; }
  Datatype* integer() const { return static_cast<Datatype*>(process.objects->predefined[kMpiInt32T]); }
  Op* sum() const { return static_cast<Op*>(process.objects->predefined[kMpiSum]); }

  /// An allreduce of `count` numbers on `comm`, checked.
  void allreduce(Comm& comm, Count count = 3) {
    std::vector<std::int32_t> in(static_cast<std::size_t>(count)), out(in.size(), -1);
    std::iota(in.begin(), in.end(), comm.rank);
    ASSERT_EQ(api::allreduce(process, in.data(), out.data(), count, integer(), sum(), &comm), 0);
    const int ranks = comm.size();
    for (Count i = 0; i < count; ++i)
      EXPECT_EQ(out[static_cast<std::size_t>(i)], ranks * (ranks - 1) / 2 + ranks * i);
  }

  Process& process;
  Comm& world;
  int number = -1;
};

TEST(Hierarchy, AreMadeByTheFirstCollectiveThatWantsThem) {
  run_ranks(5,
            [](Process& process) {
              Rank rank(process);
              rank.want(Operation::kAllreduce, "ring");
              rank.allreduce(rank.world);
              EXPECT_FALSE(rank.world.slots.is_set(kHierarchySlot));
              rank.want(Operation::kAllreduce, "hierarchical");
              Request* request = nullptr;
              ASSERT_EQ(api::ibarrier(process, &rank.world, &request), 0);
              ASSERT_EQ(wait_and_release(request, nullptr), 0);
              EXPECT_FALSE(rank.world.slots.is_set(kHierarchySlot)) << "nonblocking ones write schedules";
              rank.allreduce(rank.world);
              ASSERT_NE(rank.world.slots.get(kHierarchySlot), nullptr);
              const Hierarchy& hierarchy = *rank.world.slots.get(kHierarchySlot);
              EXPECT_EQ(hierarchy.node().size(), process.rank == 4 ? 1 : 2);
              EXPECT_EQ(hierarchy.node().slots.get(kNodeSegmentSlot) != nullptr, process.rank != 4);
              EXPECT_EQ(hierarchy.lane().size(), process.rank < 2 || process.rank == 4 ? 3 : 2);
              EXPECT_EQ(hierarchy.lane().slots.get(kNodeSegmentSlot), nullptr);
              EXPECT_TRUE(hierarchy.has_lane_of(0) && hierarchy.has_lane_of(4));
              EXPECT_FALSE(hierarchy.has_lane_of(3)) << "the last node has no second rank";
            },
            {.nodes = {0, 1, 1, 0, 2}});
}

TEST(Hierarchy, AreNotWhereTheyWouldBeNothing) {
  for (const std::vector<int>& nodes : {std::vector<int>{0, 0, 0}, std::vector<int>{0, 1, 2}}) {
    run_ranks(3,
              [](Process& process) {
                Rank rank(process);
                EXPECT_FALSE(may_have_hierarchy(rank.world));
                rank.want(Operation::kAllreduce, "hierarchical");
                rank.allreduce(rank.world);
                EXPECT_EQ(rank.times(), 0u);
                EXPECT_EQ(rank.world.slots.get(kHierarchySlot), nullptr);
              },
              {.nodes = nodes});
  }
}

TEST(Hierarchy, AreSeenByNobody) {
  run_ranks(6,
            [](Process& process) {
              Rank rank(process);
              const std::uint64_t communicators = process.counters.communicators;
              rank.want(Operation::kAllreduce, "hierarchical");
              constexpr int kFlags = algorithm_number(Operation::kReduce, "flag_based");
              const std::uint64_t others = process.counters.algorithms[kFlags];
              rank.allreduce(rank.world);
              rank.allreduce(rank.world);
              const std::uint64_t calls = process.counters.collectives;
              rank.allreduce(rank.world);
              EXPECT_EQ(process.counters.collectives, calls + 1);
              EXPECT_EQ(rank.times(), 3u);
              EXPECT_EQ(process.counters.algorithms[kFlags], others);
              EXPECT_EQ(process.counters.communicators, communicators);
            },
            {.nodes = {0, 0, 0, 1, 1, 1}});
}

TEST(Hierarchy, GoWithTheirCommunicator) {
  run_ranks(4,
            [](Process& process) {
              Rank rank(process);
              const std::size_t segments = process.collectives->node_segments.live();
              const Context contexts = process.objects->context_next;
              constexpr int kCommunicators = 5;
              rank.want(Operation::kAllreduce, "hierarchical");
              for (int round = 0; round < kCommunicators; ++round) {
                Comm* comm = nullptr;
                ASSERT_EQ(api::comm_dup(process, &rank.world, &comm), 0);
                for (int call = 0; call < 20; ++call) rank.allreduce(*comm, 1 + 100 * call);
                EXPECT_EQ(process.collectives->node_segments.live(), segments + 1);
                EXPECT_EQ(api::comm_free(process, &comm), 0);
                EXPECT_EQ(process.collectives->node_segments.live(), segments);
              }
              // One for the communicator, one for each node and one for each lane, by its first rank.
              const Context made[] = {3, 1, 1, 0};
              EXPECT_EQ(process.objects->context_next - contexts, kCommunicators * made[process.rank]);
              EXPECT_EQ(api::barrier(process, &rank.world), 0);
              process.collectives->node_segments.give_back();
              EXPECT_EQ(process.collectives->node_segments.retired(), 0u);
            },
            {.nodes = {0, 1, 0, 1}});
}

/// Reversed, every other one, and interleaved: of eight ranks on two or three nodes.
TEST(Hierarchy, WorkOnAnyPlacement) {
  for (const std::vector<int>& nodes :
       {std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}, std::vector<int>{2, 0, 1, 1, 0, 2, 2, 0}}) {
    run_ranks(8,
              [](Process& process) {
                Rank rank(process);
                for (const char* name : {"hierarchical", "lanes"}) {
                  rank.want(Operation::kAllreduce, name);
                  Comm *reversed = nullptr, *half = nullptr;
                  ASSERT_EQ(api::comm_split(process, &rank.world, 0, -process.rank, &reversed), 0);
                  ASSERT_EQ(api::comm_split(process, &rank.world, process.rank % 2, 0, &half), 0);
                  for (Count count : {Count{0}, Count{1}, Count{1000}, Count{20000}}) {
                    for (Comm* comm : {&rank.world, reversed, half}) rank.allreduce(*comm, count);
                  }
                  EXPECT_EQ(api::comm_free(process, &reversed), 0);
                  EXPECT_EQ(api::comm_free(process, &half), 0);
                }
              },
              {.nodes = nodes});
  }
}

/// Calls that are alike run what was recorded; others must not, however little differs.
TEST(Hierarchy, RecordedCallsServeThoseThatAreAlike) {
  run_ranks(
      6,
      [](Process& process) {
        Rank rank(process);
        rank.want(Operation::kAllreduce, "hierarchical");
        for (int round = 0; round < 3; ++round) {
          for (Count count = 0; count < 40; ++count) rank.allreduce(rank.world, count);
        }
        std::vector<std::int32_t> sums(5, process.rank);
        ASSERT_EQ(api::allreduce(process, kInPlace, sums.data(), 5, rank.integer(), rank.sum(), &rank.world),
                  0);
        EXPECT_EQ(sums, std::vector<std::int32_t>(5, 15));
        rank.want(Operation::kGather, "hierarchical");
        rank.want(Operation::kScatter, "hierarchical");
        for (int call = 0; call < 12; ++call) {
          const int root = call % 6;
          std::vector<std::int32_t> all(6, -1);
          const std::int32_t mine = 10 * call + process.rank;
          ASSERT_EQ(api::gather(process, &mine, 1, rank.integer(), all.data(), 1, rank.integer(), root,
                                &rank.world),
                    0);
          for (int from = 0; from < 6; ++from)
            EXPECT_EQ(all[static_cast<std::size_t>(from)], process.rank == root ? 10 * call + from : -1);
          std::int32_t back = -1;
          ASSERT_EQ(api::scatter(process, all.data(), 1, rank.integer(), &back, 1, rank.integer(), root,
                                 &rank.world),
                    0);
          EXPECT_EQ(back, mine);
        }
      },
      {.nodes = {0, 1, 0, 1, 1, 0}});
}

/// The user's array of counts is the same one, and has other counts.
TEST(Hierarchy, ArraysOfCountsAreReadAnew) {
  run_ranks(4,
            [](Process& process) {
              Rank rank(process);
              rank.want(Operation::kAllgather, "hierarchical");
              rank.want(Operation::kReduceScatter, "hierarchical");
              std::vector<int> counts(4), firsts(4);
              for (int call = 0; call < 9; ++call) {
                int total = 0;
                for (int member = 0; member < 4; ++member) {
                  counts[static_cast<std::size_t>(member)] = (member + call) % 3;
                  firsts[static_cast<std::size_t>(member)] = total;
                  total += (member + call) % 3;
                }
                const int own = counts[static_cast<std::size_t>(process.rank)];
                const std::vector<std::int32_t> mine(2, process.rank);
                std::vector<std::int32_t> all(8, -1), expected(8, -1);
                ASSERT_EQ(api::allgatherv(process, mine.data(), own, rank.integer(), all.data(),
                                          CountArray(counts.data()), CountArray(firsts.data()),
                                          rank.integer(), &rank.world),
                          0);
                for (int member = 0; member < 4; ++member) {
                  for (int i = 0; i < counts[static_cast<std::size_t>(member)]; ++i)
                    expected[static_cast<std::size_t>(firsts[static_cast<std::size_t>(member)] + i)] = member;
                }
                EXPECT_EQ(all, expected) << call;
                std::vector<std::int32_t> vector(8), part(2, -1);
                std::iota(vector.begin(), vector.end(), 0);
                ASSERT_EQ(api::reduce_scatter(process, vector.data(), part.data(), CountArray(counts.data()),
                                              rank.integer(), rank.sum(), &rank.world),
                          0);
                for (int i = 0; i < 2; ++i)
                  EXPECT_EQ(part[static_cast<std::size_t>(i)],
                            i < own ? 4 * (firsts[static_cast<std::size_t>(process.rank)] + i) : -1)
                      << call;
              }
            },
            {.nodes = {0, 1, 0, 1}});
}

TEST(Hierarchy, RootsWithoutALaneTakeAnotherWay) {
  run_ranks(5,
            [](Process& process) {
              Rank rank(process);
              rank.want(Operation::kBcast, "hierarchical");
              for (int root = 0; root < 5; ++root) {
                std::int32_t value = process.rank == root ? 100 + root : -1;
                ASSERT_EQ(api::bcast(process, &value, 1, rank.integer(), root, &rank.world), 0);
                EXPECT_EQ(value, 100 + root);
              }
              EXPECT_EQ(rank.times(), 5u);
            },
            {.nodes = {0, 0, 0, 1, 1}});
}

/// What one rank finds wrong is its error, and the others' collective goes on.
TEST(Hierarchy, ErrorsAreThoseOfTheWhole) {
  run_ranks(4,
            [](Process& process) {
              Rank rank(process);
              rank.want(Operation::kBcast, "hierarchical");
              std::vector<std::int32_t> data(10, process.rank == 0 ? 7 : 0);
              const Count count = process.rank == 3 ? 5 : 10;
              const Code code = api::bcast(process, data.data(), count, rank.integer(), 0, &rank.world);
              EXPECT_EQ(error_class_bits(code), process.rank == 3 ? kErrTruncate : 0);
              EXPECT_EQ(data[4], 7);
              EXPECT_EQ(data[5], process.rank == 3 ? 0 : 7);
              rank.want(Operation::kAllreduce, "hierarchical");
              rank.allreduce(rank.world);
            },
            {.nodes = {0, 0, 1, 1}});
}

/// Predicted, of the best of all.
double best_ns(const Problem& problem) {
  return choose(candidates_of(problem.operation), problem, Parameters{}, {}).predicted_ns;
}

/// Of 32 ranks on 4 nodes: what the calls within the nodes and between them are predicted to take, which is
/// less than messages do.
TEST(Hierarchy, CostWhatTheirCallsDo) {
  constexpr int kHierarchical = algorithm_number(Operation::kBcast, "hierarchical");
  const Candidate& hierarchical = candidate_of(kHierarchical);
  for (const Count bytes : {Count{8}, Count{1} << 20}) {
    Problem problem{.operation = Operation::kBcast, .size = 32, .bytes = bytes};
    problem.blocking = problem.composed = true;
    problem.nodes = 4;
    problem.node_ranks_max = 8;
    Problem node{.operation = Operation::kBcast, .size = 8, .bytes = bytes};
    node.blocking = node.node_segment = true;
    node.flags = bytes == 8;
    node.node_ranks_max = 8;
    Problem lane{.operation = Operation::kBcast, .size = 4, .bytes = bytes};
    lane.nodes = 4;
    lane.uniform = false;
    const double ns = hierarchical.predicted_ns(problem, Parameters{}, 0);
    EXPECT_DOUBLE_EQ(ns, best_ns(node) + best_ns(lane)) << bytes;
    problem.composed = false;
    EXPECT_LT(ns, hierarchical.predicted_ns(problem, Parameters{}, 0)) << bytes;
  }
}

}  // namespace
}  // namespace tasuki::test

// Gatherv, scatterv and alltoallv(w) over nodes, as hierarchical ones: every block lies where it belongs,
// however the ranks lie on nodes, for blocks of no bytes, short and long ones, elements with gaps, in place
// at the root; and counts that change from call to call are taken anew.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/predefined.hpp"
#include "base/variables/algorithm_table.hpp"
#include "coll/api.hpp"
#include "coll/run/execution.hpp"
#include "communicator/api.hpp"
#include "datatype/call/api.hpp"
#include "object/objects.hpp"
#include "support/world.hpp"

namespace tasuki::test {
namespace {

using Integers = std::vector<std::int32_t>;

/// Elements of the block from one rank to another in a call: none, few, or more than are passed on.
int count_between(int from, int to, int call) {
  constexpr int kCounts[] = {0, 1, 5, 300, 3000, 0, 17};
  return kCounts[static_cast<std::size_t>(3 * from + 5 * to + call) % std::size(kCounts)];
}
std::int32_t element(int from, int to, int at) {
  return 1000000 * from + 10000 * to + at;
}

struct Rank {
  explicit Rank(Process& rank_process) : process(rank_process), world(*process.objects->world) {
    for (const Operation operation : {Operation::kGatherv, Operation::kScatterv, Operation::kAlltoallv}) {
      const auto rows = algorithms_of(operation);
      for (std::size_t row = 0; row < rows.size(); ++row) {
        if (std::string(rows[row].name) == "hierarchical")
          process.config.*operation_row(operation).algorithm = static_cast<std::int64_t>(row) + 1;
      }
    }
    process.collectives->selector.forget();
    integer = predefined_object<Datatype>(*process.objects, kMpiInt32T);
  }

  template <Operation operation>
  std::uint64_t times() const {
    constexpr int kNumber = algorithm_number(operation, "hierarchical");
    return process.counters.algorithms[kNumber];
  }

  Process& process;
  Comm& world;
  Datatype* integer = nullptr;
};

/// Blocks of all ranks one after the other, with a gap of one element between.
struct Layout {
  std::vector<int> counts, firsts;
  int end = 0;
  template <class CountOf>
  Layout(int size, CountOf&& count_of) {
    for (int rank = 0; rank < size; ++rank) {
      counts.push_back(count_of(rank));
      firsts.push_back(end);
      end += counts.back() + 1;
    }
  }
};

/// `from`, `to`: of the block of each rank; `stride`: of elements in memory.
template <class From, class To>
Integers filled(const Layout& layout, int stride, From&& from, To&& to) {
  Integers all(static_cast<std::size_t>(stride * layout.end), -1);
  for (int rank = 0; rank < static_cast<int>(layout.counts.size()); ++rank) {
    for (int at = 0; at < layout.counts[static_cast<std::size_t>(rank)]; ++at)
      all[static_cast<std::size_t>(stride * (layout.firsts[static_cast<std::size_t>(rank)] + at))] =
          element(from(rank), to(rank), at);
  }
  return all;
}

/// An element, and a gap as long.
Datatype* make_gapped(Rank& rank) {
  Datatype* gapped = nullptr;
  EXPECT_EQ(api::type_create_resized(rank.process, rank.integer, 0, 8, &gapped, false), 0);
  EXPECT_EQ(api::type_commit(rank.process, &gapped), 0);
  return gapped;
}

void gather_and_scatter(Rank& rank, Comm& comm, int root, int call, Datatype* type, int stride) {
  const int self = comm.rank, size = comm.size();
  const auto count_of = [&](int member) { return count_between(member, root, call); };
  const Layout layout(size, count_of);
  const auto itself = [](int member) { return member; };
  const auto zero = [](int) { return 0; };
  const Integers expected = filled(layout, stride, itself, zero);
  const Layout own(1, [&](int) { return count_of(self); });
  const auto is_self = [&](int) { return self; };
  const Integers mine = filled(own, stride, is_self, zero);
  Integers all(expected.size(), -1);
  const bool in_place = self == root && call % 2 == 1;
  if (in_place) all = filled(Layout(size, count_of), stride, itself, zero);
  ASSERT_EQ(
      api::gatherv(rank.process, in_place ? kInPlace : mine.data(), own.counts[0], type, all.data(),
                   CountArray(layout.counts.data()), CountArray(layout.firsts.data()), type, root, &comm),
      0);
  EXPECT_EQ(all, self == root ? expected : Integers(expected.size(), -1)) << root << ' ' << call;
  Integers back(mine.size(), -1);
  ASSERT_EQ(api::scatterv(rank.process, expected.data(), CountArray(layout.counts.data()),
                          CountArray(layout.firsts.data()), type, in_place ? kInPlace : back.data(),
                          own.counts[0], type, root, &comm),
            0);
  if (!in_place) {
    EXPECT_EQ(back, mine) << root << ' ' << call;
  }
}

void exchange(Rank& rank, Comm& comm, int call, Datatype* type, int stride) {
  const int self = comm.rank, size = comm.size();
  const Layout out(size, [&](int to) { return count_between(self, to, call); });
  const Layout in(size, [&](int from) { return count_between(from, self, call); });
  const auto itself = [](int member) { return member; };
  const auto is_self = [&](int) { return self; };
  const Integers sent = filled(out, stride, is_self, itself), expected = filled(in, stride, itself, is_self);
  Integers got(expected.size(), -1);
  ASSERT_EQ(api::alltoallv(rank.process, sent.data(), CountArray(out.counts.data()),
                           CountArray(out.firsts.data()), type, got.data(), CountArray(in.counts.data()),
                           CountArray(in.firsts.data()), type, &comm),
            0);
  EXPECT_EQ(got, expected) << call;
  // Alltoallw: places in bytes, and every other block with the other type of the same shape.
  std::vector<int> out_places, in_places;
  std::vector<Datatype*> types(static_cast<std::size_t>(size), type);
  for (int member = 0; member < size; ++member) {
    out_places.push_back(4 * stride * out.firsts[static_cast<std::size_t>(member)]);
    in_places.push_back(4 * stride * in.firsts[static_cast<std::size_t>(member)]);
  }
  got.assign(expected.size(), -1);
  ASSERT_EQ(api::alltoallw(rank.process, sent.data(), CountArray(out.counts.data()),
                           CountArray(out_places.data()), types.data(), got.data(),
                           CountArray(in.counts.data()), CountArray(in_places.data()), types.data(), &comm),
            0);
  EXPECT_EQ(got, expected) << call;
}

void run_all(int ranks, const std::vector<int>& nodes) {
  run_ranks(ranks,
            [](Process& process) {
              Rank rank(process);
              Datatype* gapped = make_gapped(rank);
              Comm* reversed = nullptr;
              ASSERT_EQ(api::comm_split(process, &rank.world, 0, -process.rank, &reversed), 0);
              for (Comm* comm : {&rank.world, reversed}) {
                for (int call = 0; call < 4; ++call) {
                  for (int root = 0; root < comm->size(); ++root)
                    gather_and_scatter(rank, *comm, root, call, rank.integer, 1);
                  exchange(rank, *comm, call, rank.integer, 1);
                }
                gather_and_scatter(rank, *comm, 0, 5, gapped, 2);
                exchange(rank, *comm, 5, gapped, 2);
              }
              EXPECT_GE(rank.times<Operation::kAlltoallv>(), 20u);
              EXPECT_GT(rank.times<Operation::kGatherv>(), 0u);
              EXPECT_GT(rank.times<Operation::kScatterv>(), 0u);
              EXPECT_EQ(api::comm_free(process, &reversed), 0);
              EXPECT_EQ(api::type_free(process, &gapped), 0);
            },
            {.nodes = nodes});
}

TEST(HierarchyOfUnequalBlocks, TwoNodesOfTwoRanks) {
  run_all(4, {0, 0, 1, 1});
}
TEST(HierarchyOfUnequalBlocks, ThreeNodesOfTwoRanksThatTakeTurns) {
  run_all(6, {0, 1, 2, 0, 1, 2});
}
TEST(HierarchyOfUnequalBlocks, NodesOfOneTwoAndThreeRanks) {
  run_all(6, {0, 1, 1, 2, 2, 2});
}
TEST(HierarchyOfUnequalBlocks, UnequalNodesInAnyOrder) {
  run_all(8, {2, 0, 1, 1, 0, 2, 2, 2});
}

/// A block that is longer than its room is an error of the rank that receives it, and the next call goes
/// well.
TEST(HierarchyOfUnequalBlocks, TooLongABlockIsAnError) {
  run_ranks(4,
            [](Process& process) {
              Rank rank(process);
              const std::vector<int> ones(4, 1), firsts{0, 4, 8, 12};
              std::vector<int> counts(4, 1);
              if (process.rank == 2) counts[0] = 3;  // rank 0 expects one
              const Integers sent(16, process.rank);
              Integers got(16, -1);
              const Code code = api::alltoallv(
                  process, sent.data(), CountArray(counts.data()), CountArray(firsts.data()), rank.integer,
                  got.data(), CountArray(ones.data()), CountArray(firsts.data()), rank.integer, &rank.world);
              EXPECT_EQ(error_class_bits(code), process.rank == 0 ? kErrTruncate : 0);
              exchange(rank, rank.world, 1, rank.integer, 1);
            },
            {.nodes = {0, 0, 1, 1}});
}

}  // namespace
}  // namespace tasuki::test

// Repeatable reductions: every algorithm that is valid for them combines the ranks' vectors in the one order
// of coll/algorithm/order.hpp, which is written down here once more, in another way. The operation is a hash:
// any other order, or an operand on the other side, gives another result. Of exact reductions each rank's
// vector has to be in the result once: the operation is the sum.
#include "coll/algorithm/order.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "coll/choice/registry.hpp"
#include "coll/reduction_cases.hpp"
#include "coll/single_copy_simulation.hpp"

namespace tasuki::test {
namespace {

using reductions::kShapes;

std::uint64_t hash(std::uint64_t left, std::uint64_t right) {
  std::uint64_t mixed = left * 0x9e3779b97f4a7c15U + (right ^ 0x1234567) * 0xc2b2ae3d27d4eb4fU;
  return mixed ^ mixed >> 31;
}

void hash_elements(const std::uint8_t* in, std::uint8_t* inout) {
  std::uint64_t left, right;
  std::memcpy(&left, in, sizeof left);
  std::memcpy(&right, inout, sizeof right);
  const std::uint64_t result = hash(left, right);
  std::memcpy(inout, &result, sizeof result);
}

std::uint64_t input_of_rank(int rank, Count element) {
  return hash(static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(element));
}

void add_elements(const std::uint8_t* in, std::uint8_t* inout) {
  std::uint64_t left, right;
  std::memcpy(&left, in, sizeof left);
  std::memcpy(&right, inout, sizeof right);
  const std::uint64_t result = left + right;
  std::memcpy(inout, &result, sizeof result);
}

std::uint64_t sum_of(int size, Count element) {
  std::uint64_t sum = 0;
  for (int rank = 0; rank < size; ++rank) sum += input_of_rank(rank, element);
  return sum;
}

/// Level by level.
std::uint64_t of_all(int size, Count element) {
  std::vector<std::uint64_t> level;
  int workers = 1;
  while (2 * workers <= size) workers *= 2;
  for (int rank = 0; rank < size; ++rank) {
    if (rank < 2 * (size - workers) && rank % 2 == 1) {
      level.back() = hash(level.back(), input_of_rank(rank, element));
    } else {
      level.push_back(input_of_rank(rank, element));
    }
  }
  while (level.size() > 1) {
    std::vector<std::uint64_t> next;
    for (std::size_t i = 0; i < level.size(); i += 2) next.push_back(hash(level[i], level[i + 1]));
    level = next;
  }
  return level[0];
}

/// By doubling, at all ranks at once.
std::uint64_t of_scan(int last, Count element) {
  std::vector<std::uint64_t> sums;
  for (int rank = 0; rank <= last; ++rank) sums.push_back(input_of_rank(rank, element));
  for (std::size_t distance = 1; distance < sums.size(); distance *= 2) {
    for (std::size_t rank = sums.size() - 1; rank >= distance; --rank)
      sums[rank] = hash(sums[rank - distance], sums[rank]);
  }
  return sums.back();
}

struct OrderCase {
  Operation operation;
  int size, nodes;
  bool shares_memory, in_place;
  Count count;  // of a reduce-scatter: for each rank
  int root;
  Repeatable repeatable;
};

class OrderedWorld {
 public:
  explicit OrderedWorld(const OrderCase& with)
      : at_(with), total_(scatters() ? with.count * with.size : with.count) {
    problem_ = {.operation = at_.operation,
                .size = at_.size,
                .bytes = 8 * total_,
                .commutative = false,
                .repeatable = at_.repeatable,
                .blocking = at_.shares_memory,
                .node_segment = at_.shares_memory,
                .nodes = at_.nodes,
                .node_ranks_max = (at_.size + at_.nodes - 1) / at_.nodes};
  }

  /// Runs each algorithm that is valid and writes a schedule, and adds its name to `names`.
  void run_all(std::set<std::string>* names) {
    for (const Algorithm& one : candidates_of(at_.operation)) {
      if (one.schedule == nullptr || !one.valid(problem_)) continue;
      const std::string name = algorithm_table()[static_cast<std::size_t>(one.algorithm)].name;
      SCOPED_TRACE(name);
      names->insert(name);
      run(one);
      if (testing::Test::HasFailure()) return;
    }
  }

 private:
  bool is_exact() const { return at_.repeatable == Repeatable::kExact; }
  bool scatters() const { return at_.operation == Operation::kReduceScatter; }
  bool is_in_place(int rank) const {
    return at_.in_place && (at_.operation != Operation::kReduce || rank == at_.root);
  }

  void run(const Algorithm& algorithm) {
    const std::size_t shape = is_exact() ? 0 : static_cast<std::size_t>(at_.size + at_.count) % 3;
    const TypeShape type = kShapes[shape];
    const Count room = (total_ + 2) * std::abs(type.extent) + 64;
    std::vector<int> node_of;
    for (int rank = 0; rank < at_.size; ++rank) node_of.push_back(rank / problem_.node_ranks_max);
    const Parameters parameters;
    std::vector<SimulatedRank> ranks(static_cast<std::size_t>(at_.size));
    const auto data_at = [&](Bytes& buffer, Count i) {
      return buffer.data() + room + i * type.extent + type.true_lb;
    };
    for (int rank = 0; rank < at_.size; ++rank) {
      SimulatedRank& r = ranks[static_cast<std::size_t>(rank)];
      r.send_type = r.receive_type = type;
      r.send_base = r.receive_base = room;
      r.send.assign(static_cast<std::size_t>(2 * room), 0x5a);
      r.receive = r.send;
      for (Count i = 0; i < total_; ++i) {
        const std::uint64_t value = input_of_rank(rank, i);
        std::memcpy(data_at(is_in_place(rank) ? r.receive : r.send, i), &value, sizeof value);
      }
      const NodeMap nodes(node_of, rank);
      const Reduction vector{.count = total_,
                             .type = type,
                             .in_place = is_in_place(rank),
                             .commutative = false,
                             .repeatable = at_.repeatable};
      algorithm.schedule(r.schedule,
                         {.self = {rank, at_.size},
                          .root = at_.root,
                          .nodes = &nodes,
                          .problem = &problem_,
                          .parameters = &parameters},
                         {.blocks = {.type = type, .count = at_.count}, .vector = vector});
    }
    const auto seed = static_cast<unsigned>(at_.size);
    const auto combine = is_exact() ? add_elements : hash_elements;
    if (ranks[0].schedule.is_single_copy()) {
      SingleCopySimulation(ranks, combine, seed).run();
    } else {
      Simulation(ranks, combine, seed).run();
    }
    for (int rank = 0; rank < at_.size && !testing::Test::HasFailure(); ++rank)
      for (Count i = 0; i < at_.count && has_result(rank); ++i) {
        std::uint64_t got;
        std::memcpy(&got, data_at(ranks[static_cast<std::size_t>(rank)].receive, i), sizeof got);
        ASSERT_EQ(got, expected(rank, i)) << "rank " << rank << " element " << i;
      }
  }

  bool has_result(int rank) const {
    if (at_.operation == Operation::kReduce) return rank == at_.root;
    return at_.operation != Operation::kExscan || rank > 0;
  }
  std::uint64_t expected(int rank, Count i) const {
    if (at_.operation == Operation::kScan) return is_exact() ? sum_of(rank + 1, i) : of_scan(rank, i);
    if (at_.operation == Operation::kExscan) return is_exact() ? sum_of(rank, i) : of_scan(rank - 1, i);
    const Count element = scatters() ? rank * at_.count + i : i;
    return is_exact() ? sum_of(at_.size, element) : of_all(at_.size, element);
  }

  OrderCase at_;
  Count total_;
  Problem problem_;
};

/// The algorithms of the operation that ran: for all numbers of ranks, in memory that they share or not, and
/// on nodes.
std::set<std::string> run_all(Operation operation, Repeatable repeatable = Repeatable::kOrder) {
  std::set<std::string> names;
  const int most = repeatable == Repeatable::kExact ? 9 : kSimulatedRanksMax;
  for (int size = 1; size <= most; size = size < 17 ? size + 1 : 2 * size) {
    for (const int nodes : {1, 2, 3, 4, size}) {
      for (const bool shares_memory : {false, true}) {
        if (size % nodes != 0 || (shares_memory && (nodes > 1 || size == 1))) continue;
        for (const bool in_place : {false, true}) {
          const Count longer = operation == Operation::kReduceScatter ? 3 : 2 * size + 3;
          for (const Count count : {Count{1}, longer}) {
            for (const int root : {0, size / 2, size - 1}) {
              if (root > 0 && operation != Operation::kReduce) continue;
              SCOPED_TRACE(testing::Message()
                           << size << " ranks on " << nodes << " nodes, " << count << " elements, root "
                           << root << (in_place ? ", in place" : "") << (shares_memory ? ", shared" : ""));
              OrderedWorld({operation, size, nodes, shares_memory, in_place, count, root, repeatable})
                  .run_all(&names);
              if (testing::Test::HasFailure()) return names;
            }
          }
        }
      }
    }
  }
  return names;
}

using Names = std::set<std::string>;

TEST(Order, Reduce) {
  EXPECT_EQ(run_all(Operation::kReduce),
            (Names{"binomial", "halving", "hierarchical", "kept_copy", "single_copy"}));
}

TEST(Order, Allreduce) {
  EXPECT_EQ(run_all(Operation::kAllreduce),
            (Names{"halving_doubling", "hierarchical", "lanes", "recursive_doubling", "single_copy"}));
}

TEST(Order, ReduceScatter) {
  EXPECT_EQ(run_all(Operation::kReduceScatter),
            (Names{"halving", "pairwise", "recursive_doubling", "single_copy"}));
}

TEST(Order, Scan) {
  EXPECT_EQ(run_all(Operation::kScan), (Names{"recursive_doubling", "single_copy"}));
}

TEST(Order, Exscan) {
  EXPECT_EQ(run_all(Operation::kExscan), (Names{"recursive_doubling", "single_copy"}));
}

TEST(Exact, EveryVectorIsInTheResultOnce) {
  const auto names = [](Operation operation) { return run_all(operation, Repeatable::kExact); };
  EXPECT_EQ(names(Operation::kReduce), (Names{"collect", "collect_slices", "kept_copy", "single_copy"}));
  EXPECT_EQ(names(Operation::kAllreduce), (Names{"collect", "collect_slices", "single_copy"}));
  EXPECT_EQ(names(Operation::kReduceScatter), (Names{"pairwise", "single_copy"}));
  EXPECT_EQ(names(Operation::kScan), (Names{"collect", "single_copy"}));
  EXPECT_EQ(names(Operation::kExscan), (Names{"collect", "single_copy"}));
}

}  // namespace
}  // namespace tasuki::test

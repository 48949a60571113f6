// The schedules that reduce: every result is over all ranks' elements; where the operation does not commute,
// in the order of ranks; and they cost what their formulas say.
#include <gtest/gtest.h>

#include "coll/reduction_cases.hpp"

namespace tasuki::test {
namespace {

using namespace reductions;

void check_reduce_binomial(int size, Count count, bool in_place, bool commutative) {
  check_reduce(size, count, in_place, commutative, reduce_binomial, [&](const World& world, int) {
    expect_cost(measure_cost(world.ranks), reduce_binomial_cost(size, world.bytes()), world.power_of_two(),
                2);
  });
}

TEST(ReductionSchedules, ReduceBinomialInOrder) {
  for_cases(
      [](int size, Count count, bool in_place) { check_reduce_binomial(size, count, in_place, false); });
}

TEST(ReductionSchedules, ReduceBinomial) {
  for_cases([](int size, Count count, bool in_place) { check_reduce_binomial(size, count, in_place, true); });
}

TEST(ReductionSchedules, ReduceHalving) {
  for_cases([](int size, Count count, bool in_place) {
    for (bool commutative : {false, true}) {
      check_reduce(size, count, in_place, commutative, reduce_halving, [&](const World& world, int) {
        if (world.even_for_workers())
          expect_cost(measure_cost(world.ranks), reduce_halving_cost(size, world.bytes()),
                      world.power_of_two(), 2, !world.power_of_two());
      });
    }
  });
}

TEST(ReductionSchedules, AllreduceRecursiveDoublingInOrder) {
  for_cases([](int size, Count count, bool in_place) {
    World world(size, count, false, in_place);
    check_allreduce(world, [](Schedule& schedule, Member self, const Reduction& data) {
      allreduce_recursive_doubling(schedule, self, data, {Space::kReceive, 0});
    });
    expect_cost(measure_cost(world.ranks), allreduce_recursive_doubling_cost(size, world.bytes()), true);
  });
}

TEST(ReductionSchedules, AllreduceHalvingDoubling) {
  for_cases([](int size, Count count, bool in_place) {
    for (bool commutative : {false, true}) {
      World world(size, count, commutative, in_place);
      check_allreduce(world, allreduce_halving_doubling);
      if (world.even_for_workers())
        expect_cost(measure_cost(world.ranks), allreduce_halving_doubling_cost(size, world.bytes()),
                    world.power_of_two());
    }
  });
}

TEST(ReductionSchedules, AllreduceRing) {
  for_cases([](int size, Count count, bool in_place) {
    World world(size, count, true, in_place);
    check_allreduce(world, allreduce_ring);
    if (world.even()) expect_cost(measure_cost(world.ranks), allreduce_ring_cost(size, world.bytes()), true);
  });
}

/// The parts of a reduce-scatter: equal, or as in the vector form, some of them empty.
struct Parts {
  std::vector<Count> counts;
  Blocks blocks;
  Count total = 0;
  Parts(int size, Count count, bool uniform) {
    for (int rank = 0; rank < size; ++rank) {
      counts.push_back(uniform ? count : rank * 3 % 4 * count);
      total += counts.back();
    }
    blocks = {.count = count};
    if (!uniform) blocks.counts = CountArray(counts.data());
  }
};

template <class Algorithm>
void check_reduce_scatter(int size, Count count, bool in_place, bool commutative, Algorithm&& algorithm,
                          const std::function<void(const World&)>& check_cost) {
  for (bool uniform : {true, false}) {
    SCOPED_TRACE(uniform ? "block" : "vector");
    Parts parts(size, count, uniform);
    World world(size, parts.total, commutative, in_place);
    parts.blocks.type = world.data.type;
    for (int rank = 0; rank < size; ++rank)
      algorithm(world.ranks[static_cast<std::size_t>(rank)].schedule, Member{rank, size}, world.data,
                parts.blocks);
    world.run();
    Count first = 0;
    for (int rank = 0; rank < size; ++rank) {
      const Count own = parts.counts[static_cast<std::size_t>(rank)];
      for (Count i = 0; i < own; ++i) world.expect(rank, i, first + i, 0, size);
      first += own;
    }
    if (uniform) check_cost(world);
  }
}

TEST(ReductionSchedules, ReduceScatterPairwise) {
  for_cases([](int size, Count count, bool in_place) {
    if (count > 34) return;
    for (bool commutative : {false, true}) {
      check_reduce_scatter(
          size, count, in_place, commutative, reduce_scatter_pairwise, [&](const World& world) {
            expect_cost(measure_cost(world.ranks), reduce_scatter_pairwise_cost(size, world.bytes()), true);
          });
    }
  });
}

TEST(ReductionSchedules, ReduceScatterHalving) {
  for_cases([](int size, Count count, bool in_place) {
    if (count > 34) return;
    for (bool commutative : {false, true}) {
      check_reduce_scatter(size, count, in_place, commutative, reduce_scatter_halving,
                           [&](const World& world) {
                             expect_cost(measure_cost(world.ranks),
                                         reduce_scatter_halving_cost(size, world.bytes(), commutative),
                                         world.power_of_two() && commutative, 3);
                           });
    }
  });
}

TEST(ReductionSchedules, ReduceScatterRecursiveDoubling) {
  for_cases([](int size, Count count, bool in_place) {
    if (count > 3) return;
    check_reduce_scatter(size, count, in_place, false, reduce_scatter_recursive_doubling,
                         [&](const World& world) {
                           expect_cost(measure_cost(world.ranks),
                                       reduce_scatter_recursive_doubling_cost(size, world.bytes()), true);
                         });
  });
}

TEST(ReductionSchedules, Scan) {
  for_cases([](int size, Count count, bool in_place) {
    World world(size, count, false, in_place);
    for (int rank = 0; rank < size; ++rank)
      scan_recursive_doubling(world.ranks[static_cast<std::size_t>(rank)].schedule, {rank, size}, world.data);
    world.run();
    for (int rank = 0; rank < size; ++rank) {
      for (Count i = 0; i < count; ++i) world.expect(rank, i, i, 0, rank + 1);
    }
    expect_cost(measure_cost(world.ranks), scan_recursive_doubling_cost(size, world.bytes()), true);
  });
}

TEST(ReductionSchedules, Exscan) {
  for_cases([](int size, Count count, bool in_place) {
    World world(size, count, false, in_place);
    const Bytes first_before = world.ranks[0].receive;
    for (int rank = 0; rank < size; ++rank)
      exscan_recursive_doubling(world.ranks[static_cast<std::size_t>(rank)].schedule, {rank, size},
                                world.data);
    world.run();
    EXPECT_EQ(world.ranks[0].receive, first_before) << "MPI 6.11.2: not significant at rank 0";
    for (int rank = 1; rank < size; ++rank) {
      for (Count i = 0; i < count; ++i) world.expect(rank, i, i, 0, rank);
    }
    expect_cost(measure_cost(world.ranks), exscan_recursive_doubling_cost(size, world.bytes()), true);
  });
}

}  // namespace
}  // namespace tasuki::test

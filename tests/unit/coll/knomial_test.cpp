// The k-nomial trees, of several radixes, give the right result for all sizes, roots and datatypes, in place
// or not, in the order of ranks where the operation asks for it, and take the messages that their formulas
// say.
#include <gtest/gtest.h>

#include <set>

#include "coll/algorithm/knomial.hpp"
#include "coll/algorithm/tree.hpp"
#include "coll/move_cases.hpp"
#include "coll/reduction_cases.hpp"

namespace tasuki::test {
namespace {

constexpr int kRadixes[] = {2, 3, 4, 8};

TEST(Knomial, EveryRankIsOnceBelowAnother) {
  for (int radix : kRadixes) {
    for (int size = 1; size <= 70; ++size) {
      std::set<int> seen = {0};
      for (int rank = 0; rank < size; ++rank) {
        const TreePlace at = tree_place({rank, size}, 0, radix);
        int covered = 1;
        at.for_children([&](int distance, int blocks) {
          EXPECT_EQ(covered, distance) << "the subtrees follow one another";
          covered += blocks;
          EXPECT_TRUE(seen.insert(rank + distance).second);
          const TreePlace child = tree_place({rank + distance, size}, 0, radix);
          EXPECT_EQ(child.distance_up, distance);
          EXPECT_EQ(child.subtree, blocks);
        });
        EXPECT_EQ(covered, at.subtree);
        // The other way, digit by digit from the highest on.
        const auto digit_of = [&](int distance) {
          int digit = 0;
          for (; distance >= radix; distance /= radix) ++digit;
          return digit;
        };
        int again = 1, last_digit = 100;
        at.for_children_from_top([&](int distance, int blocks) {
          again += blocks;
          EXPECT_LE(digit_of(distance), last_digit);
          last_digit = digit_of(distance);
        });
        EXPECT_EQ(again, covered);
      }
      EXPECT_EQ(static_cast<int>(seen.size()), size);
    }
  }
}

TEST(Knomial, Bcast) {
  for_cases([](const Case& c) {
    for (int radix : kRadixes) {
      const auto ranks = run_bcast(c, [=](Schedule& schedule, Member self, int root, const Elements& data) {
        bcast_knomial(schedule, self, root, data, radix);
      });
      expect_cost(measure_cost(ranks), bcast_knomial_cost(c.size, static_cast<double>(4 * c.count), radix),
                  false, 2);
    }
  });
}

TEST(Knomial, Gather) {
  for_cases([](const Case& c) {
    for (int radix : kRadixes) {
      const auto ranks = run_gather(
          c,
          [=](Schedule& schedule, Member self, int root, const Elements& mine, const Blocks& all) {
            gather_knomial(schedule, self, root, mine, all, radix);
          },
          c.count % 2 == 0, nullptr);
      expect_cost(measure_cost(ranks), gather_knomial_cost(c.size, static_cast<double>(4 * c.count), radix),
                  false, 2, true);
    }
  });
}

TEST(Knomial, Scatter) {
  for_cases([](const Case& c) {
    for (int radix : kRadixes) {
      const auto ranks = run_scatter(
          c,
          [=](Schedule& schedule, Member self, int root, const Blocks& all, const Elements& mine) {
            scatter_knomial(schedule, self, root, all, mine, radix);
          },
          c.count % 2 == 0, nullptr);
      expect_cost(measure_cost(ranks), scatter_knomial_cost(c.size, static_cast<double>(4 * c.count), radix),
                  false, 2);
    }
  });
}

TEST(Knomial, Reduce) {
  reductions::for_cases([](int size, Count count, bool in_place) {
    for (int radix : kRadixes) {
      for (bool commutative : {false, true}) {
        reductions::check_reduce(
            size, count, in_place, commutative,
            [=](Schedule& schedule, Member self, int root, const Reduction& data) {
              reduce_knomial(schedule, self, root, data, radix);
            },
            [&](const reductions::World& world, int) {
              expect_cost(measure_cost(world.ranks),
                          reduce_knomial_cost(size, world.bytes(), commutative, radix), false, 3);
            });
      }
    }
  });
}

}  // namespace
}  // namespace tasuki::test

// The pipelined schedules give the right result for all sizes, roots, datatypes and segments, and take the
// steps that their formulas say: a chain, a binary tree, and the trees of several directions on grids of one
// to three dimensions, which no link carries twice.
#include <gtest/gtest.h>

#include <climits>
#include <set>

#include "coll/move_cases.hpp"
#include "coll/pipeline/multi_direction.hpp"
#include "coll/pipeline/pipeline.hpp"
#include "coll/reduction_cases.hpp"

namespace tasuki::test {
namespace {

constexpr Count kSegments[] = {0, 4, 12, 4096};  // bytes; 0: in one piece

double bytes_of(const Case& c) {
  return static_cast<double>(4 * c.count);
}

TEST(Pipeline, SegmentsCoverTheWhole) {
  for (Count units : {0, 1, 2, 7, 1000, 5000}) {
    for (Count segment_bytes : {0, 1, 8, 24, 100000}) {
      const Segments segments(units, 8, segment_bytes);
      Count covered = 0;
      for (int index = 0; index < segments.number(); ++index) {
        EXPECT_EQ(segments.begin(index), covered);
        EXPECT_GT(segments.length(index), 0);
        covered += segments.length(index);
      }
      EXPECT_EQ(covered, units);
      EXPECT_LE(segments.number(), kSegmentsMax);
    }
  }
}

TEST(Pipeline, BcastChain) {
  for_cases([](const Case& c) {
    for (Count segment : kSegments) {
      const auto ranks = run_bcast(c, [=](Schedule& schedule, Member self, int root, const Elements& data) {
        bcast_chain(schedule, self, root, data, segment);
      });
      expect_cost(measure_cost(ranks), bcast_chain_cost(c.size, bytes_of(c), static_cast<double>(segment)),
                  true);
    }
  });
}

TEST(Pipeline, BcastBinaryTree) {
  for_cases([](const Case& c) {
    for (Count segment : kSegments) {
      const auto ranks = run_bcast(c, [=](Schedule& schedule, Member self, int root, const Elements& data) {
        bcast_binary_tree(schedule, self, root, data, segment);
      });
      expect_cost(measure_cost(ranks),
                  bcast_binary_tree_cost(c.size, bytes_of(c), static_cast<double>(segment)), false, 2);
    }
  });
}

/// Calls `body(size, count, in_place, segment_bytes)`.
template <class Body>
void for_reductions(Body&& body) {
  reductions::for_cases([&](int size, Count count, bool in_place) {
    if (count > 64) return;
    for (Count segment : {0, 8, 24, 4096}) body(size, count, in_place, segment);
  });
}

TEST(Pipeline, ReduceChain) {
  for_reductions([](int size, Count count, bool in_place, Count segment) {
    reductions::check_reduce(
        size, count, in_place, true,
        [=](Schedule& schedule, Member self, int root, const Reduction& data) {
          reduce_chain(schedule, self, root, data, segment);
        },
        [&](const reductions::World& world, int) {
          expect_cost(measure_cost(world.ranks),
                      reduce_chain_cost(size, world.bytes(), static_cast<double>(segment)), true);
        });
  });
}

TEST(Pipeline, ReduceBinaryTree) {
  for_reductions([](int size, Count count, bool in_place, Count segment) {
    reductions::check_reduce(
        size, count, in_place, true,
        [=](Schedule& schedule, Member self, int root, const Reduction& data) {
          reduce_binary_tree(schedule, self, root, data, segment);
        },
        [&](const reductions::World& world, int) {
          expect_cost(measure_cost(world.ranks),
                      reduce_binary_tree_cost(size, world.bytes(), static_cast<double>(segment)), false, 4,
                      true);
        });
  });
}

TEST(Pipeline, Allreduce) {
  for_reductions([](int size, Count count, bool in_place, Count segment) {
    reductions::World chain(size, count, true, in_place);
    reductions::check_allreduce(chain, [=](Schedule& schedule, Member self, const Reduction& data) {
      allreduce_chain(schedule, self, data, segment);
    });
    const auto bytes = static_cast<double>(segment);
    expect_cost(measure_cost(chain.ranks), allreduce_chain_cost(size, chain.bytes(), bytes), false, 2, true);
    reductions::World tree(size, count, true, in_place);
    reductions::check_allreduce(tree, [=](Schedule& schedule, Member self, const Reduction& data) {
      allreduce_binary_tree(schedule, self, data, segment);
    });
    expect_cost(measure_cost(tree.ranks), allreduce_binary_tree_cost(size, tree.bytes(), bytes), false, 4,
                true);
  });
}

const Grid kGrids[] = {{0, {1, 1, 1}}, {1, {2, 1, 1}}, {1, {7, 1, 1}}, {2, {2, 2, 1}}, {2, {5, 3, 1}},
                       {2, {2, 6, 1}}, {3, {2, 2, 2}}, {3, {3, 2, 4}}, {3, {4, 4, 2}}};

TEST(Grid, IsBalanced) {
  EXPECT_EQ(balanced_grid(384, 3).extents, (GridPoint{8, 8, 6}));
  EXPECT_EQ(balanced_grid(12, 2).extents, (GridPoint{4, 3, 1}));
  EXPECT_EQ(balanced_grid(12, 1).extents, (GridPoint{12, 1, 1}));
  EXPECT_EQ(balanced_grid(13, 3).dimensions, 1);
  EXPECT_EQ(balanced_grid(1, 3).dimensions, 0);
  for (int size = 1; size <= 100; ++size) {
    for (int dimensions : {1, 2, 3}) EXPECT_EQ(balanced_grid(size, dimensions).size(), size);
  }
}

TEST(Grid, FollowsTheTopology) {
  const int flat[] = {1, 6, 1, 4}, other[] = {2, 3}, four[] = {2, 2, 2, 3};
  EXPECT_EQ(grid_of(24, flat, 3).extents, (GridPoint{6, 4, 1}));
  EXPECT_EQ(grid_of(24, other, 3).extents, (GridPoint{4, 3, 2})) << "not a grid of all ranks";
  EXPECT_EQ(grid_of(24, four, 3).extents, (GridPoint{4, 3, 2})) << "too many dimensions";
}

TEST(MultiDirection, NoLinkIsInTwoTrees) {
  for (const Grid& grid : kGrids) {
    for (int root : {0, grid.size() / 2, grid.size() - 1}) {
      std::set<std::pair<int, int>> links;  // rank, dimension
      int deepest = 0;
      for (int part = 0; part < grid.dimensions; ++part) {
        for (int rank = 0; rank < grid.size(); ++rank) {
          const PipelineTree tree = direction_tree(grid, rank, root, part);
          deepest = std::max(deepest, tree.hops);
          EXPECT_EQ(tree.parent < 0, rank == root);
          if (rank != root) {
            EXPECT_EQ(direction_tree(grid, tree.parent, root, part).hops, tree.hops - 1);
            int dimension = 0;
            while (dimension < grid.dimensions && grid.shifted(tree.parent, dimension, 1) != rank)
              ++dimension;
            ASSERT_LT(dimension, grid.dimensions) << "not one link in positive direction";
            EXPECT_TRUE(links.insert({tree.parent, dimension}).second);
          }
          for (int child = 0; child < tree.children_count; ++child)
            EXPECT_EQ(direction_tree(grid, tree.children[static_cast<std::size_t>(child)], root, part).parent,
                      rank);
        }
      }
      EXPECT_EQ(deepest, direction_hops(grid));
    }
  }
}

/// How many hops there are below a rank.
int longest_way_below(const Grid& grid, int rank, int root, int part) {
  const PipelineTree tree = direction_tree(grid, rank, root, part);
  int longest = 0;
  for (int child = 0; child < tree.children_count; ++child) {
    const int next = tree.children[static_cast<std::size_t>(child)];
    longest = std::max(longest, 1 + longest_way_below(grid, next, root, part));
  }
  return longest;
}

TEST(MultiDirection, SendsToTheChildWithTheLongestWayFirst) {
  for (const Grid& grid : kGrids) {
    const int root = grid.size() / 2;
    for (int part = 0; part < grid.dimensions; ++part) {
      for (int rank = 0; rank < grid.size(); ++rank) {
        const PipelineTree tree = direction_tree(grid, rank, root, part);
        int before = INT_MAX;
        for (int child = 0; child < tree.children_count; ++child) {
          const int way = longest_way_below(grid, tree.children[static_cast<std::size_t>(child)], root, part);
          EXPECT_LE(way, before) << "rank " << rank << ", part " << part;
          before = way;
        }
      }
    }
  }
}

/// The reference's S for one, two and three dimensions.
int reference_hops(const Grid& grid) {
  const GridPoint& n = grid.extents;
  if (grid.dimensions == 3) return n[0] + n[1] + n[2] - 2;
  if (grid.dimensions == 2) return n[0] + n[1] - 1;
  return n[0] - 1;
}

TEST(MultiDirection, BcastTakesTheStepsOfTheReference) {
  for (const Grid& grid : kGrids) {
    const int directions = std::max(grid.dimensions, 1);
    for (Count segments : {1, 2, 5}) {  // of each part
      const Count count = 3 * segments * directions;
      for (int root : {0, grid.size() - 1}) {
        const Case c{grid.size(), root, count, kShapes[static_cast<std::size_t>(grid.size()) % 4]};
        const auto ranks = run_bcast(c, [&](Schedule& schedule, Member self, int from, const Elements& data) {
          bcast_multi_direction(schedule, self.rank, from, grid, data, 12);
        });
        if (grid.size() == 1) continue;
        // Each link of the torus takes one message at a time; no rank ever uses one for two.
        EXPECT_EQ(measure_cost(ranks, directions).steps,
                  reference_hops(grid) + static_cast<double>(segments) - 1);
        expect_cost(measure_cost(ranks), bcast_multi_direction_cost(grid, bytes_of(c), 12), false, 4, true);
      }
    }
  }
}

TEST(MultiDirection, ReduceAndAllreduce) {
  for (const Grid& grid : kGrids) {
    const int size = grid.size();
    const int directions = std::max(grid.dimensions, 1);
    for (Count count : {0, 1, 5, 12 * directions}) {
      for (bool in_place : {false, true}) {
        reductions::check_reduce(
            size, count, in_place, true,
            [&](Schedule& schedule, Member self, int root, const Reduction& data) {
              reduce_multi_direction(schedule, self.rank, root, grid, data, 16);
            },
            [&](const reductions::World& world, int) {
              if (count != 12 * directions || size == 1) return;
              EXPECT_EQ(measure_cost(world.ranks, directions).steps, reference_hops(grid) + 6.0 - 1);
              expect_cost(measure_cost(world.ranks), reduce_multi_direction_cost(grid, world.bytes(), 16),
                          false, 4, true);
            });
        reductions::World world(size, count, true, in_place);
        reductions::check_allreduce(world, [&](Schedule& schedule, Member self, const Reduction& data) {
          allreduce_multi_direction(schedule, self.rank, grid, data, 16);
        });
        if (count == 12 * directions)
          expect_cost(measure_cost(world.ranks), allreduce_multi_direction_cost(grid, world.bytes(), 16),
                      false, 4, true);
      }
    }
  }
}

}  // namespace
}  // namespace tasuki::test

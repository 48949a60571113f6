// The multi-ring allgather brings every block to every rank, whatever its datatype, on grids of one to three
// dimensions, in P-1 ticks of all its directions.
#include <gtest/gtest.h>

#include "coll/move_cases.hpp"
#include "coll/pipeline/multi_ring.hpp"

namespace tasuki::test {
namespace {

TEST(MultiRing, Allgather) {
  for (const GridPoint& extents : {GridPoint{1, 1, 1},
                                   {2, 1, 1},
                                   {7, 1, 1},
                                   {2, 2, 1},
                                   {5, 3, 1},
                                   {2, 6, 1},
                                   {2, 2, 2},
                                   {3, 2, 4},
                                   {4, 4, 2}}) {
    const Grid grid = grid_of(extents[0] * extents[1] * extents[2], extents, 3);
    ASSERT_EQ(grid.size(), extents[0] * extents[1] * extents[2]);
    for (Count count : {0, 1, 2, 7, 64}) {
      SCOPED_TRACE(testing::Message() << grid.size() << " ranks, count " << count);
      const Case c{grid.size(), 0, count, kShapes[static_cast<std::size_t>(count) % 4]};
      const auto algorithm = [&](Schedule& schedule, Member self, const Elements& mine, const Blocks& all) {
        allgather_multi_ring(schedule, self.rank, grid, mine, all);
      };
      const Layout layout(grid.size());
      for (bool in_place : {false, true}) {
        run_allgather(c, algorithm, in_place, &layout);
        const auto ranks = run_allgather(c, algorithm, in_place, nullptr);
        if (count == 0) continue;
        EXPECT_EQ(measure_cost(ranks, multi_ring_directions(grid)).steps, grid.size() - 1);
        expect_cost(measure_cost(ranks),
                    allgather_multi_ring_cost(grid, static_cast<double>(4 * count * grid.size())), true);
      }
    }
  }
}

}  // namespace
}  // namespace tasuki::test

// Grids: see coll/pipeline/grid.hpp.
#include "coll/pipeline/grid.hpp"

#include <algorithm>

namespace tasuki {

int Grid::shifted(int rank, int dimension, int distance) const {
  GridPoint point = point_of(rank);
  int& coordinate = point[static_cast<std::size_t>(dimension)];
  const int length = extent(dimension);
  coordinate = ((coordinate + distance) % length + length) % length;
  return rank_of(point);
}

Grid balanced_grid(int size, int dimensions_max) {
  GridPoint best{size, 1, 1};
  for (int second = 1; dimensions_max >= 2 && second * second <= size; ++second) {
    for (int third = 1; third <= (dimensions_max >= 3 ? second : 1); ++third) {
      const int first = size / (second * third);
      if (first < second || first * second * third != size) continue;
      if (first + second + third < best[0] + best[1] + best[2]) best = {first, second, third};
    }
  }
  return {static_cast<int>(std::count_if(best.begin(), best.end(), [](int extent) { return extent > 1; })),
          best};
}

Grid grid_of(int size, std::span<const int> extents, int dimensions_max) {
  Grid grid;
  for (const int extent : extents) {
    if (extent <= 1) continue;
    if (grid.dimensions == dimensions_max) return balanced_grid(size, dimensions_max);
    grid.extents[static_cast<std::size_t>(grid.dimensions++)] = extent;
  }
  return grid.size() == size ? grid : balanced_grid(size, dimensions_max);
}

}  // namespace tasuki

// Space cut into columns of cells. A column is what mappings deal out to ranks; inside a column particles are
// ordered by row, so that any run of neighbouring rows is one piece of memory.
//
// Columns are at least cell_size wide, and rows at least cell_size / reach high: all partners of a particle
// lie in its own column and the next ones, at most `reach` rows up or down. reach = 1 gives the paper's
// cells; finer rows leave fewer candidates that are out of range. Particles that left space through an open
// end belong to the first or the last column (row).
#pragma once

#include <algorithm>

#include "settings.hpp"

namespace spam {

struct Grid {
  int columns = 1;
  int rows = 1;
  int reach = 1;
  double column_width = 0;
  double row_height = 0;

  Grid() = default;
  Grid(const Space& space, int rows_of_reach) : reach(rows_of_reach) {
    columns = std::max(1, static_cast<int>(space.width / space.cell_size));
    rows = std::max(1, static_cast<int>(space.height / space.cell_size * reach));
    column_width = space.width / columns;
    row_height = space.height / rows;
  }

  int column_of(double x) const { return place(x / column_width, columns); }
  int row_of(double y) const { return place(y / row_height, rows); }

  /// How far a particle may move between two sortings, so that no neighbour in its range is missed.
  double slack(double range) const { return (std::min(column_width, reach * row_height) - range) / 2; }

 private:
  static int place(double at, int count) {
    return static_cast<int>(std::min(std::max(at, 0.0), count - 1.0));  // which compilers vectorise
  }
};

}  // namespace spam

// Grid: the ranks of a communicator as points of a torus of up to three dimensions, for the algorithms that
// use several directions at once (coll/pipeline/multi_direction.hpp, coll/pipeline/multi_ring.hpp). Pure.
#pragma once

#include <array>
#include <span>

#include "coll/algorithm/algorithms.hpp"

namespace tasuki {

inline constexpr int kGridDimensionsMax = 3;

using GridPoint = std::array<int, kGridDimensionsMax>;

/// REQUIRES: 0 <= dimensions <= kGridDimensionsMax; extents of at least 2. The last dimension counts fastest,
/// as in MPI 8.5.1.
struct Grid {
  int dimensions = 0;
  GridPoint extents = {1, 1, 1};

  int size() const { return extents[0] * extents[1] * extents[2]; }
  int extent(int dimension) const { return extents[static_cast<std::size_t>(dimension)]; }

  GridPoint point_of(int rank) const {
    return {rank / (extents[1] * extents[2]), rank / extents[2] % extents[1], rank % extents[2]};
  }
  int rank_of(GridPoint point) const { return (point[0] * extents[1] + point[1]) * extents[2] + point[2]; }

  /// The rank `distance` after `rank` in a dimension, around the end.
  int shifted(int rank, int dimension, int distance) const;
};

/// The grid of `size` ranks with at most `dimensions_max` dimensions whose extents are closest to each other
/// (their sum is the least), as MPI_Dims_create has them, the longest first.
Grid balanced_grid(int size, int dimensions_max);

/// A Cartesian topology's grid, or the balanced one where it has more dimensions than allowed. Dimensions of
/// one rank (or of none: 0) count for nothing. `extents`: empty without a topology.
Grid grid_of(int size, std::span<const int> extents, int dimensions_max);

}  // namespace tasuki

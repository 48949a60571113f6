// A column of cells as the blocked engine's loops want it: its particles with their images above and below,
// in memory of the thread that works on it, small enough for the first cache.
//
// Rows are counted from -reach to rows + reach: those below 0 and from `rows` on are images, of the other end
// where y is periodic, of the same end behind a mirror, and empty at an open end. So the partners of any
// particle lie in one piece, whatever the boundary. Forces on images are added to their originals at the end
// (bring_to). Behind x's edges images are blocks of their own.
//
// Whole vectors are read and written, up to their neighbours in the column, or to far away places at the
// ends: those are out of range and get zeros.
#pragma once

#include <vector>

#include "aligned.hpp"
#include "grid.hpp"
#include "halo.hpp"

namespace spam {

inline constexpr int kLanesMax = 8;  // doubles in the longest vector

/// What is known of a particle by the force loops, and what they make.
struct BlockArrays {
  Array<double> x, y, vx, vy;
  Array<double> fx, fy, heating, density;
};

/// Which of them are there.
struct BlockParts {
  bool velocities = false;  // and heating
  bool density = false;
};

/// Where the image of a column stands: at offset + sign * x.
struct Displaced {
  double sign = 1, offset = 0;
};

/// How the rows outside a column of space follow from those inside.
class ImageRows {
 public:
  ImageRows() = default;
  ImageRows(const Space& space, const Grid& grid);

  struct Row {
    int original = -1;  // -1: there is none
    Displaced y;
  };
  const Row& at(int row) const { return rows_[static_cast<std::size_t>(row + reach_)]; }
  int rows() const { return own_rows_; }
  int reach() const { return reach_; }
  /// Behind a mirror a particle has an image even of itself, and forces on images within the own column are
  /// no reactions.
  bool mirror_below() const { return mirror_below_; }
  bool mirror_above() const { return mirror_above_; }

 private:
  int own_rows_ = 0, reach_ = 0;
  bool mirror_below_ = false, mirror_above_ = false;
  std::vector<Row> rows_;
};

class Block {
 public:
  /// Copies a column and its images, with no forces on them yet.
  void load(const ColumnView& column, const ImageRows& images, const Displaced& x, BlockParts parts);

  /// Adds the forces on the column's particles and on their images, times `scale`, to the arrays that begin
  /// with its first particle. heating and density may be null.
  struct Target {
    double *fx = nullptr, *fy = nullptr, *heating = nullptr, *density = nullptr;
  };
  enum class Mode { kAssign, kAdd };
  void bring_to(const Target& target, const ImageRows& images, double scale, Mode mode) const;

  /// Of a row from -reach to rows + reach. Between the end of a row and the beginning of the next there may
  /// be far away places.
  int row_begin(int row) const { return row_begin_[static_cast<std::size_t>(row + reach_)]; }
  int row_end(int row) const { return row_end_[static_cast<std::size_t>(row + reach_)]; }
  /// By row + reach, rows + 2 reach + 1 numbers.
  const int* row_begins() const { return row_begin_.data(); }
  /// Where its own particles are, in x; no interval if there are none.
  double x_min() const { return x_min_; }
  double x_max() const { return x_max_; }
  int own_begin() const { return row_begin(0); }
  int own_count() const { return own_count_; }

  BlockArrays arrays;

 private:
  void resize(int count, BlockParts parts);
  void copy_row(const ColumnView& column, int from, int to, int at, const Displaced& x, const Displaced& y);

  int reach_ = 0, own_count_ = 0;
  double x_min_ = 0, x_max_ = 0;
  BlockParts parts_;
  std::vector<int> row_begin_, row_end_;
};

}  // namespace spam

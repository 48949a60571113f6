// Copies columns into blocks, and brings forces back.
#include "force_block.hpp"

#include <algorithm>
#include <limits>

namespace spam {
namespace {

// Farther than any range from any particle, and its square is a number still.
constexpr double kFarAway = 1e100;

int round_up(int count) {
  return (count + kLanesMax - 1) / kLanesMax * kLanesMax;
}

int floor_quotient(int number, int by) {
  return number >= 0 ? number / by : -((by - 1 - number) / by);
}

}  // namespace

ImageRows::ImageRows(const Space& space, const Grid& grid)
    : own_rows_(grid.rows),
      reach_(grid.reach),
      mirror_below_(space.y.low == Boundary::kMirror),
      mirror_above_(space.y.high == Boundary::kMirror) {
  const int rows = grid.rows;
  for (int row = -reach_; row < rows + reach_; ++row) {
    Row image;
    if (row >= 0 && row < rows) {
      image.original = row;
    } else if (space.y.periodic()) {
      const int periods = floor_quotient(row, rows);
      image = {row - periods * rows, {1, periods * space.height}};
    } else if (row < 0 && mirror_below_ && -1 - row < rows) {
      image = {-1 - row, {-1, 0}};
    } else if (row >= rows && mirror_above_ && 2 * rows - 1 - row >= 0) {
      image = {2 * rows - 1 - row, {-1, 2 * space.height}};
    }
    rows_.push_back(image);
  }
}

void Block::resize(int count, BlockParts parts) {
  const auto length = static_cast<std::size_t>(count);
  const auto fit = [length](Array<double>* array) {
    if (array->size() < length) array->resize(length + length / 4);
  };
  for (auto* array : {&arrays.x, &arrays.y, &arrays.fx, &arrays.fy}) fit(array);
  if (parts.velocities)
    for (auto* array : {&arrays.vx, &arrays.vy, &arrays.heating}) fit(array);
  if (parts.density) fit(&arrays.density);
}

void Block::copy_row(const ColumnView& column, int from, int to, int at, const Displaced& x,
                     const Displaced& y) {
  for (int k = from; k < to; ++k, ++at) {
    const auto p = static_cast<std::size_t>(at);
    arrays.x[p] = x.offset + x.sign * column.x[k];
    arrays.y[p] = y.offset + y.sign * column.y[k];
    if (parts_.velocities) {
      arrays.vx[p] = x.sign * column.vx[k];
      arrays.vy[p] = y.sign * column.vy[k];
    }
  }
}

void Block::load(const ColumnView& column, const ImageRows& images, const Displaced& x, BlockParts parts) {
  const int rows = images.rows();
  reach_ = images.reach();
  parts_ = parts;
  own_count_ = column.row_begin[rows];
  // Behind a mirror loops end at whole vectors, so that no image is taken for an original.
  const bool apart = images.mirror_below() || images.mirror_above();
  row_begin_.clear();
  row_end_.clear();
  int count = 0;
  for (int row = -reach_; row < rows + reach_; ++row) {
    if (apart && (row == 0 || row == rows)) count = round_up(count);
    row_begin_.push_back(count);
    const int original = images.at(row).original;
    if (original >= 0) count += column.row_begin[original + 1] - column.row_begin[original];
    row_end_.push_back(count);
  }
  row_begin_.push_back(count);
  const int length = round_up(count);
  resize(length, parts);
  const auto fill = [](Array<double>* array, int from, int to, double value) {
    std::fill(array->begin() + from, array->begin() + to, value);
  };
  const auto pad = [&](int from, int to) {
    for (auto* array : {&arrays.x, &arrays.y}) fill(array, from, to, kFarAway);
    if (parts.velocities)
      for (auto* array : {&arrays.vx, &arrays.vy}) fill(array, from, to, 0);
  };
  if (apart)
    for (const int begin : {row_begin(0), row_begin(rows)}) pad(std::max(0, begin - kLanesMax), begin);
  pad(count, length);
  for (int row = -reach_; row < 0; ++row) {
    const ImageRows::Row& image = images.at(row);
    if (image.original >= 0)
      copy_row(column, column.row_begin[image.original], column.row_begin[image.original + 1], row_begin(row),
               x, image.y);
  }
  copy_row(column, 0, own_count_, own_begin(), x, {});
  for (int row = rows; row < rows + reach_; ++row) {
    const ImageRows::Row& image = images.at(row);
    if (image.original >= 0)
      copy_row(column, column.row_begin[image.original], column.row_begin[image.original + 1], row_begin(row),
               x, image.y);
  }
  x_min_ = std::numeric_limits<double>::infinity();
  x_max_ = -x_min_;
  for (int k = own_begin(); k < own_begin() + own_count_; ++k) {
    x_min_ = std::min(x_min_, arrays.x[static_cast<std::size_t>(k)]);
    x_max_ = std::max(x_max_, arrays.x[static_cast<std::size_t>(k)]);
  }
  for (auto* array : {&arrays.fx, &arrays.fy}) fill(array, 0, length, 0);
  if (parts.velocities) fill(&arrays.heating, 0, length, 0);
  if (parts.density) fill(&arrays.density, 0, length, 0);
}

void Block::bring_to(const Target& target, const ImageRows& images, double scale, Mode mode) const {
  const auto add = [](const Array<double>& from, int at, int count, double times, double* to) {
    const double* values = from.data() + at;
    for (int k = 0; k < count; ++k) to[k] += times * values[k];
  };
  const auto begin = [this, mode](const Array<double>& from, double times, double* to) {
    const double* values = from.data() + own_begin();
    for (int k = 0; k < own_count_; ++k) to[k] = (mode == Mode::kAdd ? to[k] : 0) + times * values[k];
  };
  begin(arrays.fx, scale, target.fx);
  begin(arrays.fy, scale, target.fy);
  if (target.heating != nullptr) begin(arrays.heating, 1, target.heating);
  if (target.density != nullptr) begin(arrays.density, 1, target.density);
  const int rows = images.rows();
  for (int row = -reach_; row < rows + reach_; ++row) {
    if (row == 0) row = rows;  // the images above
    const ImageRows::Row& image = images.at(row);
    if (image.original < 0) continue;
    const int at = row_begin(row), count = row_end(row) - at;
    const int first = row_begin(image.original) - own_begin();
    add(arrays.fx, at, count, scale, target.fx + first);
    add(arrays.fy, at, count, scale * image.y.sign, target.fy + first);
    if (target.heating != nullptr) add(arrays.heating, at, count, 1, target.heating + first);
    if (target.density != nullptr) add(arrays.density, at, count, 1, target.density + first);
  }
}

}  // namespace spam

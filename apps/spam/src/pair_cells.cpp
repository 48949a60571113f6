// The cells of own particles, ghosts and images, and the pairs listed from them.
#include "pair_cells.hpp"

#include <algorithm>

namespace spam {

void PairCells::set_up(const Domain& domain, const Halo& halo) {
  const auto columns = static_cast<int>(domain.columns().size());
  rows_ = domain.grid().rows;
  own_ = all_ = domain.particles.size();
  runs_.clear();
  number_of_.clear();
  cells_.assign(place(columns, -1), {});
  for (int k = 0; k < columns; ++k) {
    const int begin = domain.column_begin()[static_cast<std::size_t>(k)];
    const std::span<const int> row_begin = domain.row_begin(k);
    for (std::size_t r = 0; r + 1 < row_begin.size(); ++r)
      *cell(k, static_cast<int>(r)) = {begin + row_begin[r], begin + row_begin[r + 1]};
    add_edge_rows(domain, halo, {domain.columns()[static_cast<std::size_t>(k)], false, {}}, k);
  }
  west_.clear();
  east_.clear();
  for (int k = 0; k < columns; ++k) {
    west_.push_back(neighbour_column(domain, halo, k, -1));
    east_.push_back(neighbour_column(domain, halo, k, +1));
  }
}

int PairCells::neighbour_column(const Domain& domain, const Halo& halo, int owned_column, int side) {
  const int columns = domain.grid().columns;
  int column = domain.columns()[static_cast<std::size_t>(owned_column)] + side;
  Shift x;
  if (column < 0 || column >= columns) {
    const Boundary edge = side < 0 ? space_.x.low : space_.x.high;
    if (edge == Boundary::kOpen) return kNowhere;
    const bool mirror = edge == Boundary::kMirror;
    column = mirror ? column - side : (column + columns) % columns;
    x = mirror ? Shift{-1, side < 0 ? 0 : 2 * space_.width} : Shift{1, side * space_.width};
  }
  const bool ghost = domain.owned_number(column) < 0;
  const bool crossed = x.sign < 0 || x.offset != 0;
  if (!ghost && !crossed) return domain.owned_number(column);
  const std::pair<int, int> key{column, crossed ? side : 0};
  if (const auto known = number_of_.find(key); known != number_of_.end()) return known->second;
  return number_of_[key] = add_column(domain, halo, {column, ghost, x});
}

int PairCells::add_column(const Domain& domain, const Halo& halo, const Image& image) {
  const auto number = static_cast<int>(cells_.size() / static_cast<std::size_t>(rows_ + 2));
  cells_.resize(place(number + 1, -1));
  for (int row = 0; row < rows_; ++row) *cell(number, row) = copy_row(domain, halo, image, row, {});
  add_edge_rows(domain, halo, image, number);
  return number;
}

/// The rows below and above space.
void PairCells::add_edge_rows(const Domain& domain, const Halo& halo, const Image& image, int number) {
  const bool both_sides = !image.ghost && image.x.sign > 0;
  if (space_.y.periodic()) {
    *cell(number, rows_) = copy_row(domain, halo, image, 0, {1, space_.height});
    // Where pairs are listed once, from below, no search goes to the row below.
    if (!both_sides) *cell(number, -1) = copy_row(domain, halo, image, rows_ - 1, {1, -space_.height});
    return;
  }
  if (space_.y.low == Boundary::kMirror) *cell(number, -1) = copy_row(domain, halo, image, 0, {-1, 0});
  if (space_.y.high == Boundary::kMirror)
    *cell(number, rows_) = copy_row(domain, halo, image, rows_ - 1, {-1, 2 * space_.height});
}

PairCells::Cell PairCells::copy_row(const Domain& domain, const Halo& halo, const Image& image, int row,
                                    Shift y) {
  const auto r = static_cast<std::size_t>(row);
  int begin, end, first = 0;
  if (image.ghost) {
    const int* row_begin = halo.ghost(image.column).row_begin;
    begin = row_begin[r];
    end = row_begin[r + 1];
  } else {
    const int number = domain.owned_number(image.column);
    first = domain.column_begin()[static_cast<std::size_t>(number)];
    begin = domain.row_begin(number)[r];
    end = domain.row_begin(number)[r + 1];
  }
  const bool gives_back = !image.ghost && image.x.sign > 0 && y.sign > 0;
  const Cell copy{all_, all_ + end - begin, gives_back};
  if (end > begin)
    runs_.push_back({image.column, first + begin, end - begin, all_, image.ghost, gives_back, image.x, y});
  all_ = copy.end;
  return copy;
}

/// The cells whose particles are partners of those in an own cell, that one itself left out.
int PairCells::find_partners(int owned_column, int row, Cell* partners) const {
  const auto k = static_cast<std::size_t>(owned_column);
  const int numbers[] = {west_[k], owned_column, east_[k]};
  int found = 0;
  for (int up = -1; up <= 1; ++up)
    for (int right = -1; right <= 1; ++right) {
      const int number = numbers[right + 1];
      if (number == kNowhere || (up == 0 && right == 0)) continue;
      const Cell& other = cells_[place(number, row + up)];
      const bool listed_here = up > 0 || (up == 0 && right > 0);  // north-west, north, north-east; east
      if (!other.both_sides || listed_here) partners[found++] = other;
    }
  return found;
}

std::size_t PairCells::count_pairs(int owned_column) const {
  std::size_t count = 0;
  Cell partners[kNeighbours];
  for (int row = 0; row < rows_; ++row) {
    const Cell& own = cells_[place(owned_column, row)];
    const auto here = static_cast<std::size_t>(own.end - own.begin);
    std::size_t others = 0;
    const int found = find_partners(owned_column, row, partners);
    for (int p = 0; p < found; ++p) others += static_cast<std::size_t>(partners[p].end - partners[p].begin);
    if (here > 0) count += here * (here - 1) / 2 + here * others;
  }
  return count;
}

void PairCells::list_pairs(int owned_column, Pair* to) const {
  Cell partners[kNeighbours];
  for (int row = 0; row < rows_; ++row) {
    const Cell& own = cells_[place(owned_column, row)];
    const int found = find_partners(owned_column, row, partners);
    for (int i = own.begin; i < own.end; ++i) {
      for (int j = i + 1; j < own.end; ++j) *to++ = {i, j};
      for (int p = 0; p < found; ++p)
        for (int j = partners[p].begin; j < partners[p].end; ++j) *to++ = {i, j};
    }
  }
}

void PairCells::copy_places(const Halo& halo, const StageState& to, int part, int parts) const {
  const std::size_t count = runs_.size(), of = static_cast<std::size_t>(parts);
  const std::size_t begin = count * static_cast<std::size_t>(part) / of;
  const std::size_t end = count * static_cast<std::size_t>(part + 1) / of;
  for (std::size_t n = begin; n < end; ++n) {
    const Run& run = runs_[n];
    const ColumnView from =
        run.ghost ? halo.ghost(run.column) : ColumnView{to.x, to.y, to.vx, to.vy, nullptr};
    for (int p = 0; p < run.count; ++p) {
      to.x[run.to + p] = run.x(from.x[run.source + p]);
      to.y[run.to + p] = run.y(from.y[run.source + p]);
    }
    if (!velocities_) continue;
    for (int p = 0; p < run.count; ++p) {
      to.vx[run.to + p] = run.x.sign * from.vx[run.source + p];
      to.vy[run.to + p] = run.y.sign * from.vy[run.source + p];
    }
  }
}

void PairCells::give_back(double* values) const {
  for (const Run& run : runs_)
    if (run.gives_back)
      for (int p = 0; p < run.count; ++p) values[run.source + p] += values[run.to + p];
}

}  // namespace spam

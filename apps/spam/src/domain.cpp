// A counting sort of particles by cell, in which every thread fetches the particles of its own columns.
#include "domain.hpp"

#include <omp.h>

#include <numeric>
#include <utility>

#include "balance.hpp"
#include "vectorise.hpp"

namespace spam {
namespace {

/// The row of each y, vectorised.
SPAM_VECTORISED void find_places(const Grid& grid, int count, const double* x, const double* y, int* columns,
                                 int* rows) {
#pragma omp simd
  for (int i = 0; i < count; ++i) columns[i] = grid.column_of(x[i]);
#pragma omp simd
  for (int i = 0; i < count; ++i) rows[i] = grid.row_of(y[i]);
}

template <class T>
SPAM_VECTORISED void gather(const int* from, int count, const T* values, T* gathered) {
#pragma omp simd
  for (int i = 0; i < count; ++i) gathered[i] = values[from[i]];
}

}  // namespace

Domain::Domain(const Grid& grid, int rank, int ranks, int threads)
    : grid_(grid),
      rank_(rank),
      ranks_(ranks),
      threads_(threads),
      column_begin_(1),
      thread_columns_(static_cast<std::size_t>(threads)),
      thread_ends_(static_cast<std::size_t>(threads)) {}

void Domain::set_owners(Owners owners) {
  owners_ = std::move(owners);
  columns_.clear();
  number_of_.assign(owners_.size(), -1);
  for (std::size_t column = 0; column < owners_.size(); ++column) {
    if (owners_[column] != rank_) continue;
    number_of_[column] = static_cast<int>(columns_.size());
    columns_.push_back(static_cast<int>(column));
  }
}

std::span<const int> Domain::row_begin(int owned_column) const {
  const auto length = static_cast<std::size_t>(grid_.rows) + 1;
  return std::span(row_begin_).subspan(static_cast<std::size_t>(owned_column) * length, length);
}

ColumnRange Domain::thread_particles(int thread) const {
  const ColumnRange owned = thread_columns(thread);
  return {column_begin_[static_cast<std::size_t>(owned.begin)],
          column_begin_[static_cast<std::size_t>(owned.end)]};
}

ColumnRange Domain::piece_particles(int piece) const {
  const auto count = static_cast<std::int64_t>(particles.size());
  return {static_cast<int>(count * piece / threads_), static_cast<int>(count * (piece + 1) / threads_)};
}

/// A counting sort. First each thread counts a part of the particles as they lie; then each fetches those of
/// its own columns, so that they are in its cache, and, on machines with several memories, in the one next to
/// it.
void Domain::sort(std::span<const double> column_cost) {
  deal_columns(column_cost);
  const auto count = static_cast<std::size_t>(particles.size());
  cell_of_.resize(count);
  from_.resize(count);
  sorted_.resize(particles.size());
  cell_at_.resize(cells() * static_cast<std::size_t>(threads_));
#pragma omp parallel num_threads(threads_)
  {
    // Strides, since there may be fewer threads than were asked for.
    const int first = omp_get_thread_num(), stride = omp_get_num_threads();
    for (int piece = first; piece < threads_; piece += stride) count_cells(piece);
#pragma omp barrier
#pragma omp single
    begin_cells();
    for (int piece = first; piece < threads_; piece += stride) place_particles(piece);
#pragma omp barrier
    for (int thread = first; thread < threads_; thread += stride) gather_particles(thread);
  }
  std::swap(particles, sorted_);
}

void Domain::deal_columns(std::span<const double> column_cost) {
  cost_before_.resize(columns_.size() + 1);
  for (std::size_t k = 0; k < columns_.size(); ++k)
    cost_before_[k + 1] = cost_before_[k] + column_cost[static_cast<std::size_t>(columns_[k])];
  balanced_cuts(cost_before_, thread_ends_);
  for (std::size_t t = 0; t < thread_ends_.size(); ++t)
    thread_columns_[t] = {t == 0 ? 0 : thread_ends_[t - 1], thread_ends_[t]};
}

void Domain::count_cells(int piece) {
  constexpr int kBlock = 512;
  int columns[kBlock], rows[kBlock];
  int* count_of = cell_at_.data() + cells() * static_cast<std::size_t>(piece);
  std::fill(count_of, count_of + cells(), 0);
  const auto [begin, end] = piece_particles(piece);
  for (int at = begin; at < end; at += kBlock) {
    const int count = std::min(kBlock, end - at);
    find_places(grid_, count, particles.x.data() + at, particles.y.data() + at, columns, rows);
    for (int i = 0; i < count; ++i) {
      const int cell = owned_number(columns[i]) * grid_.rows + rows[i];
      cell_of_[static_cast<std::size_t>(at + i)] = cell;
      ++count_of[cell];
    }
  }
}

/// Where columns and rows begin, and the pieces' shares of each cell.
void Domain::begin_cells() {
  column_begin_.resize(columns_.size() + 1);
  row_begin_.resize(columns_.size() * (static_cast<std::size_t>(grid_.rows) + 1));
  int at = 0;
  int* row = row_begin_.data();
  std::size_t cell = 0;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    column_begin_[column] = at;
    for (int r = 0; r < grid_.rows; ++r, ++cell) {
      *row++ = at - column_begin_[column];
      for (std::size_t share = cell; share < cell_at_.size(); share += cells())
        at += std::exchange(cell_at_[share], at);
    }
    *row++ = at - column_begin_[column];
  }
  column_begin_[columns_.size()] = at;
}

void Domain::place_particles(int piece) {
  int* cell_at = cell_at_.data() + cells() * static_cast<std::size_t>(piece);
  const auto [begin, end] = piece_particles(piece);
  for (int i = begin; i < end; ++i)
    from_[static_cast<std::size_t>(cell_at[cell_of_[static_cast<std::size_t>(i)]]++)] = i;
}

void Domain::gather_particles(int thread) {
  const auto [begin, end] = thread_particles(thread);
  const int* from = from_.data() + begin;
  gather(from, end - begin, particles.id.data(), sorted_.id.data() + begin);
  Particles::DoubleArrays before = particles.doubles(), after = sorted_.doubles();
  for (int k = 0; k < Particles::kDoubles; ++k)
    gather(from, end - begin, before.arrays[k]->data(), after.arrays[k]->data() + begin);
}

}  // namespace spam

// The part of space that a rank owns: its columns and the particles in them, ordered by column and row.
//
// Invariants, after sort():
//   1. columns() ascend; particle i lies in the owned column k with column_begin()[k] <= i <
//   column_begin()[k+1].
//   2. Within a column particles are ordered by row, and in a row as they were before (the sort is
//      stable), so a run is a function of the input, the mapping, ranks and threads alone.
//   3. Every thread has a piece of neighbouring owned columns, thread_columns(t), of about the same cost; it
//      sorts, sums forces and moves just these particles, which therefore stay in its cache.
#pragma once

#include <span>
#include <vector>

#include "grid.hpp"
#include "mapping.hpp"
#include "particles.hpp"

namespace spam {

struct ColumnRange {
  int begin = 0, end = 0;  // numbers of owned columns
};

class Domain {
 public:
  Domain(const Grid& grid, int rank, int ranks, int threads);

  /// New owners: columns() is renewed; particles stay where they are until they are exchanged and sorted.
  void set_owners(Owners owners);

  /// Orders the particles, and deals the columns to threads by their cost. REQUIRES: all particles lie in
  /// owned columns. `column_cost`: of each column of space, as of the last step.
  void sort(std::span<const double> column_cost);

  const Grid& grid() const { return grid_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  int threads() const { return threads_; }
  const Owners& owners() const { return owners_; }

  std::span<const int> columns() const { return columns_; }            // global numbers of the owned ones
  std::span<const int> column_begin() const { return column_begin_; }  // owned columns + 1 numbers
  /// rows + 1 numbers, counted from the column's first particle.
  std::span<const int> row_begin(int owned_column) const;
  /// The number of an owned column, or -1.
  int owned_number(int column) const { return number_of_[static_cast<std::size_t>(column)]; }
  ColumnRange thread_columns(int thread) const { return thread_columns_[static_cast<std::size_t>(thread)]; }
  /// Its particles: [begin, end).
  ColumnRange thread_particles(int thread) const;

  Particles particles;  // the state at the beginning of the step

 private:
  void deal_columns(std::span<const double> column_cost);
  void count_cells(int piece);
  void begin_cells();
  void place_particles(int piece);
  void gather_particles(int thread);
  /// As many parts of the particles as there are threads, in the order of before the sort.
  ColumnRange piece_particles(int piece) const;
  std::size_t cells() const { return columns_.size() * static_cast<std::size_t>(grid_.rows); }

  Grid grid_;
  int rank_, ranks_, threads_;
  Owners owners_;
  std::vector<int> columns_, column_begin_, row_begin_;
  std::vector<int> number_of_;  // by column of space
  std::vector<ColumnRange> thread_columns_;
  // Room for sort():
  std::vector<double> cost_before_;  // of owned columns
  std::vector<int> thread_ends_;
  Array<int> cell_of_, from_;  // by particle of before, and of after
  std::vector<int> cell_at_;   // [piece][cell]: how many, then where the next one goes
  Particles sorted_;
};

}  // namespace spam

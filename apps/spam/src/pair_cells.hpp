// The cells of the paper's engine, and the pairs of particles that they give.
//
// Besides the rank's own cells there are cells around them: columns of other ranks (ghosts), and what lies
// across an edge of space (images). Their particles are copies, numbered behind the own ones: particle p with
// p >= own() is a copy, and copy_places() says where it is at a stage.
//
// Invariants:
//   1. A pair of own particles is listed once, also where it goes over a periodic edge: one of the two is
//      then a copy that gives back, i.e. what acts on the copy acts on its original (give_back()).
//   2. A pair of an own particle and a ghost, or an image behind a mirror, is listed once, with the own one
//      first; what acts on the copy is dropped.
//   3. Pairs are listed cell by cell: columns ascend, and rows in a column.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "domain.hpp"
#include "halo.hpp"

namespace spam {

struct Pair {
  int i, j;
};

class PairCells {
 public:
  PairCells(const Space& space, bool velocities) : space_(space), velocities_(velocities) {}

  /// After Halo::finish(0): the ghosts' cells are known.
  void set_up(const Domain& domain, const Halo& halo);

  int own() const { return own_; }
  int all() const { return all_; }  // with copies

  std::size_t count_pairs(int owned_column) const;
  /// Writes count_pairs() of them, before any test of distance.
  void list_pairs(int owned_column, Pair* to) const;

  /// The copies of a part of the runs, `part` of `parts`, as they are at a stage, into arrays of all() places
  /// whose first own() are there already.
  void copy_places(const Halo& halo, const StageState& to, int part, int parts) const;

  /// Adds what copies got to their originals.
  void give_back(double* values) const;

 private:
  struct Cell {
    int begin = 0, end = 0;
    bool both_sides = true;  // what is in it is the rank's own, or gives back
  };
  struct Shift {
    double sign = 1, offset = 0;
    double operator()(double at) const { return sign * at + offset; }
  };
  /// A piece of one column, copied.
  struct Run {
    int column;     // of space
    int source;     // of an own particle; or in the ghost's column, if ghost
    int count, to;  // particles, and the number of the first copy
    bool ghost;
    bool gives_back;
    Shift x, y;
  };
  /// A column as its neighbours see it.
  struct Image {
    int column;
    bool ghost;
    Shift x;
  };
  static constexpr int kNowhere = -1;
  static constexpr int kNeighbours = 9;

  int neighbour_column(const Domain& domain, const Halo& halo, int owned_column, int side);
  int add_column(const Domain& domain, const Halo& halo, const Image& image);
  Cell copy_row(const Domain& domain, const Halo& halo, const Image& image, int row, Shift y);
  void add_edge_rows(const Domain& domain, const Halo& halo, const Image& image, int number);
  Cell* cell(int number, int row) { return &cells_[place(number, row)]; }
  std::size_t place(int number, int row) const {
    return static_cast<std::size_t>(number) * static_cast<std::size_t>(rows_ + 2) +
           static_cast<std::size_t>(row + 1);
  }
  int find_partners(int owned_column, int row, Cell* partners) const;

  Space space_;
  bool velocities_;
  int rows_ = 0, own_ = 0, all_ = 0;
  std::vector<Cell> cells_;       // by column number (own ones first, then copies) and row -1 … rows
  std::vector<int> west_, east_;  // of each own column: the column's number, or kNowhere
  std::vector<Run> runs_;
  std::map<std::pair<int, int>, int> number_of_;  // of (column, the edge it is seen across) that was copied
};

}  // namespace spam

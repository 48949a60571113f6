// Which ranks border on each other: which columns a rank shows to each of its neighbours, and which it sees
// of them.
#pragma once

#include <vector>

#include "halo.hpp"
#include "mapping.hpp"

namespace spam {

/// What two ranks see of each other. Both find the same, with `shown` and `seen` in each other's place.
struct Border {
  int rank = 0;            // the neighbour
  std::vector<int> shown;  // columns of ours next to one of its, ascending
  std::vector<int> seen;   // its columns next to one of ours, ascending: our ghosts
};

/// Ascending by rank. With `periodic_x` the first column borders on the last.
std::vector<Border> find_borders(const Owners& owners, int rank, bool periodic_x);

/// The views of ghosts, by column and by the parity of the stage.
class GhostTable {
 public:
  void reset(const Owners& owners, const std::vector<Border>& borders);
  ColumnView& view(int column, int parity) { return views_[parity][number(column)]; }
  const ColumnView& view(int column, int parity) const { return views_[parity][number(column)]; }

 private:
  std::size_t number(int column) const {
    return static_cast<std::size_t>(number_of_[static_cast<std::size_t>(column)]);
  }
  std::vector<int> number_of_;  // by column of space; -1: no ghost
  std::vector<ColumnView> views_[2];
};

}  // namespace spam

// The binomial tree that broadcast, gather, scatter and reduce share. Ranks are counted from the root on
// (vranks). The parent of a vrank is found by clearing its lowest bit, so each subtree is a run of vranks.
#pragma once

#include <algorithm>
#include <bit>

#include "coll/algorithms.hpp"

namespace tasuki {

struct TreePlace {
  int vrank;
  int distance_up;  // to the parent, in ranks; 0 at the root
  int subtree;      // it has the vranks [vrank, vrank + subtree) with and below it
  int size;

  /// The vranks of the children are vrank + 1, + 2, + 4 and so on while these are below `subtree`.
  int child_subtree(int distance) const { return std::min(distance, subtree - distance); }

  /// Distance to the farthest child, 0 without children.
  int farthest_child() const { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(subtree))) / 2; }

  int children() const { return ceil_log2(subtree); }
};

inline TreePlace tree_place(Member self, int root) {
  const int vrank = (self.rank - root + self.size) % self.size;
  if (vrank == 0) return {0, 0, self.size, self.size};
  const int lowest_bit = vrank & -vrank;
  return {vrank, lowest_bit, std::min(lowest_bit, self.size - vrank), self.size};
}

/// The rank that is `distance` after or (negative) before this one, around the end.
inline int neighbour(Member self, int distance) {
  return (self.rank + distance + self.size) % self.size;
}

}  // namespace tasuki

// The k-nomial trees that broadcast, gather, scatter and reduce share; with the radix 2, the binomial tree.
// Ranks are counted from the root on (vranks), and written as numbers to the base of the radix. The parent of
// a vrank is found by clearing its lowest digit that is not 0, so each subtree is a run of vranks: those that
// differ from its top in the digits below that one. A rank has radix - 1 children in each of those digits.
#pragma once

#include <algorithm>

#include "coll/algorithm/algorithms.hpp"

namespace tasuki {

struct TreePlace {
  int vrank;
  int distance_up;  // to the parent, in ranks; 0 at the root
  int subtree;      // it has the vranks [vrank, vrank + subtree) with and below it
  int radix;

  /// Calls `visit(distance, blocks)` for each child, the nearest first: vrank + distance, with so many vranks
  /// in its subtree.
  template <class Visit>
  void for_children(Visit&& visit) const {
    for (int weight = 1; weight < subtree; weight *= radix) visit_digit(weight, visit);
  }

  /// The same, the largest subtrees first.
  template <class Visit>
  void for_children_from_top(Visit&& visit) const {
    int weight = 1;
    while (weight * radix < subtree) weight *= radix;
    for (; weight >= 1; weight /= radix) visit_digit(weight, visit);
  }

  int children() const {
    int count = 0;
    for_children([&](int, int) { ++count; });
    return count;
  }

  /// The children that are `weight`, 2 `weight` and so on away.
  template <class Visit>
  void visit_digit(int weight, Visit&& visit) const {
    for (int digit = 1; digit < radix && digit * weight < subtree; ++digit)
      visit(digit * weight, std::min(weight, subtree - digit * weight));
  }
};

inline TreePlace tree_place(Member self, int root, int radix = 2) {
  const int vrank = (self.rank - root + self.size) % self.size;
  if (vrank == 0) return {0, 0, self.size, radix};
  int weight = 1;
  while (vrank / weight % radix == 0) weight *= radix;
  return {vrank, vrank / weight % radix * weight, std::min(weight, self.size - vrank), radix};
}

/// The rank that is `distance` after or (negative) before this one, around the end.
inline int neighbour(Member self, int distance) {
  return (self.rank + distance + self.size) % self.size;
}

}  // namespace tasuki

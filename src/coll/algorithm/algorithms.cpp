// What the algorithms share.
#include "coll/algorithm/algorithms.hpp"

#include <bit>

#include "coll/algorithm/tree.hpp"

namespace tasuki {

int ceil_log2(int size) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(size) - 1));
}

int tree_blocks_moved(int size, int radix) {
  int blocks = 0;
  for (int rank = 1; rank < size; ++rank) blocks += tree_place({rank, size}, 0, radix).subtree;
  return blocks;
}

int tree_children_max(int size, int radix) {
  return tree_place({0, size}, 0, radix).children();
}

int tree_levels(int size, int radix) {
  int levels = 0;
  int furthest = 0;  // whose number has a 1 at each digit so far
  for (int weight = 1; weight < size; weight *= radix) {
    furthest += weight;
    if (furthest < size) ++levels;
  }
  return levels;
}

void place_own_block(Schedule& schedule, Member self, const Elements& mine, const Blocks& all) {
  if (mine.in_place) return;
  schedule.copy(mine.place(), mine.count, mine.element, all.place_of(self.rank), all.count_of(self.rank),
                all.element);
}

void take_own_block(Schedule& schedule, Member self, const Blocks& all, const Elements& mine) {
  if (mine.in_place) return;
  schedule.copy(all.place_of(self.rank), all.count_of(self.rank), all.element, mine.place(), mine.count,
                mine.element);
}

}  // namespace tasuki

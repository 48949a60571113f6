// What the algorithms share.
#include "coll/algorithm/algorithms.hpp"

#include <bit>

#include "coll/algorithm/tree.hpp"

namespace tasuki {

int ceil_log2(int size) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(size) - 1));
}

int floor_pow2(int size) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
}

int tree_blocks_moved(int size, int radix) {
  int blocks = 0;
  for (int rank = 1; rank < size; ++rank) blocks += tree_place({rank, size}, 0, radix).subtree;
  return blocks;
}

int tree_children_max(int size, int radix) {
  return tree_place({0, size}, 0, radix).children();
}

}  // namespace tasuki

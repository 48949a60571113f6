// What the algorithms share.
#include "coll/algorithms.hpp"

#include <algorithm>
#include <bit>

namespace tasuki {

int ceil_log2(int size) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(size) - 1));
}

int floor_pow2(int size) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
}

int tree_blocks_moved(int size) {
  int blocks = 0;
  for (int vrank = 1; vrank < size; ++vrank) blocks += std::min(vrank & -vrank, size - vrank);
  return blocks;
}

}  // namespace tasuki

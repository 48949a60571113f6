// What the algorithms share.
#include "coll/algorithms.hpp"

#include <bit>

namespace tasuki {

int ceil_log2(int size) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(size) - 1));
}

int floor_pow2(int size) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
}

}  // namespace tasuki

// What the user can set by TASUKI_* environment variables. Parsed once, at MPI_Init, by
// environment/config.cpp, which refuses a bad value by name.
#pragma once

#include <cstddef>

namespace tasuki {

struct Config {
  std::size_t eager_bytes_max =
      16 * 1024;               // TASUKI_EAGER_BYTES_MAX: above it a message waits for its receive
  std::size_t ring_bytes = 0;  // TASUKI_RING_BYTES: bulk bytes per pair of ranks; 0: by the number of ranks
  int spin_count = -1;         // TASUKI_SPIN_COUNT: polls before yielding; -1: from the processors available
  bool verbose = false;        // TASUKI_VERBOSE
  bool explain = false;        // TASUKI_EXPLAIN: print what was chosen and why
};

}  // namespace tasuki

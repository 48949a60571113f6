// The parts of the group concurrent that have a file of their own.
#pragma once

#include "suite.hpp"

namespace mbl {

/// Halos of 1 to 3 dimensions, in several ways.
void add_halos(Catalogue& catalogue);
/// With data in use, and, but for --quick, with buffers that nobody touches.
void enter(Catalogue& catalogue, Benchmark benchmark);

}  // namespace mbl

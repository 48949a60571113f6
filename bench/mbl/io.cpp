// The group io.
#include "suite.hpp"

namespace mbl {

void add_io([[maybe_unused]] Catalogue& catalogue) {}

}  // namespace mbl

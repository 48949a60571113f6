// The group collectives.
#include "suite.hpp"

namespace mbl {

void add_collectives([[maybe_unused]] Catalogue& catalogue) {}

}  // namespace mbl

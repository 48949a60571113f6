// The group concurrent.
#include "suite.hpp"

namespace mbl {

void add_concurrent([[maybe_unused]] Catalogue& catalogue) {}

}  // namespace mbl

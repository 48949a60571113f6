// The group rma.
#include "suite.hpp"

namespace mbl {

void add_rma([[maybe_unused]] Catalogue& catalogue) {}

}  // namespace mbl

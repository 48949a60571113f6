// A remedy for SimGrid 3.32 and 3.33: they put each communication that no actor waits for into a list, and
// search the list when it ends, which takes the longer the more are under way. This function stands in front
// of the library's own, which alone fills that list: so it stays empty. What keeps the communication alive is
// flow_simgrid.cpp's, which holds all that are under way. Since 3.34 there is no such list, and this file is
// not compiled.
#include "sim/simgrid_332.hpp"

namespace simgrid::kernel::activity {

class CommImpl {
 public:
  __attribute__((visibility("default"))) CommImpl& detach();
};

namespace {
bool called = false;
}

CommImpl& CommImpl::detach() {
  called = true;
  return *this;
}

}  // namespace simgrid::kernel::activity

namespace tasuki::sim {

bool list_of_flows_is_empty() {
  return simgrid::kernel::activity::called;
}

}  // namespace tasuki::sim

// Files of the operating system, with the parts that tests replace. A caller that only wants files uses
// make_posix_storage() of driver.hpp.
#pragma once

#include <memory>

#include "storage/driver.hpp"
#include "storage/striping.hpp"
#include "storage/uring.hpp"

namespace tasuki {

struct PosixParts {
  RingMaker make_ring = tasuki::make_ring;
  std::shared_ptr<StripingSystem> system = make_striping_system();
};

std::unique_ptr<Storage> make_posix_storage(PosixParts parts);

}  // namespace tasuki

// A client of PMIx, whose library is loaded when a launcher offers that protocol.
#pragma once

#include <memory>
#include <string>

#include "job/wire/wire.hpp"

namespace tasuki::wire {

/// Loads libpmix.so.2: that of PMIX_PREFIX, else that of the launcher, which runs as the process `launcher`
/// (0: unknown), else the system's; and joins. Returns null and one line in `error` when there is none, when
/// it does not get through to the launcher, or when this library was built without PMIx' headers.
std::unique_ptr<Wire> make_pmix_wire(int launcher, std::string* error);

}  // namespace tasuki::wire

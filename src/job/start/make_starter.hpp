// The one decision: whose child is this program?
#pragma once

#include <memory>
#include <string>

#include "job/starter.hpp"

namespace tasuki {

/// The Starter that fits how this program was started (job/wire/choice.hpp): a rank of our mpiexec's job, a
/// rank of another launcher's, or a program alone. Returns null and one line in `error` when the job cannot
/// be joined, or is one that this library does not know how to join (running as N singletons would give wrong
/// results silently). TASUKI_SINGLETON=1 makes it a singleton whatever the rest of the environment says.
std::unique_ptr<Starter> make_starter(std::string* error);

}  // namespace tasuki

// `mpiexec --doctor` without a program: looks at a job that runs, from another terminal.
#pragma once

#include "launch/options.hpp"

namespace tasuki::launch {

/// Prints what the ranks of that job are in on standard output, or why it cannot on standard error. Returns
/// mpiexec's exit status.
int visit(const Options& options);

}  // namespace tasuki::launch

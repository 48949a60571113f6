// What the core knows about itself, as hints.
#pragma once

#include <string>

#include "base/process.hpp"
#include "object/comm.hpp"

namespace tasuki {

/// Sets the keys of MPI_INFO_ENV (MPI 11.2.1): command, argv, maxprocs, soft, host, arch, wdir, thread_level.
/// What is not known, or too long, is left out. `file` is always left out: our mpiexec takes none.
void fill_environment_info(const Process& process, Info* info);

}  // namespace tasuki

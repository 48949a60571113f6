// The forces at time 0 as a table, for checks against other programs.
#pragma once

#include <mpi.h>

#include <string>

#include "settings.hpp"

namespace spam {

/// Collective; rank 0 writes id, x, y, fx, fy, density of all particles by id, with all digits. Throws Error
/// on all ranks if it cannot.
void write_force_table(MPI_Comm comm, const Settings& settings, const std::string& file);

}  // namespace spam

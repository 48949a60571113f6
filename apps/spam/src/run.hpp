// The simulation.
#pragma once

#include <mpi.h>

#include <string>

#include "settings.hpp"

namespace spam {

struct RunOptions {
  std::string restart;  // the file to continue from; empty: from the beginning
  bool quiet = false;
};

/// Collective. Throws Error on all ranks alike.
void run(MPI_Comm comm, const Settings& settings, const RunOptions& options);

}  // namespace spam

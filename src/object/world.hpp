// MPI_COMM_WORLD, MPI_COMM_SELF, and what is known of the world when a process starts.
#pragma once

#include "base/process.hpp"
#include "base/types.hpp"

namespace tasuki {

/// Makes MPI_COMM_WORLD and MPI_COMM_SELF, the values of the predefined attributes and MPI_INFO_ENV. Local:
/// nothing is exchanged. REQUIRES: process.objects is made, process.thread_level is final.
Code make_world(Process& process);

}  // namespace tasuki

// MPI_COMM_WORLD, MPI_COMM_SELF, and what is known of the world when a process starts.
#pragma once

#include "base/process.hpp"
#include "base/types.hpp"

namespace tasuki {

/// Makes MPI_COMM_WORLD and MPI_COMM_SELF, which only the core sees yet, and the values of the predefined
/// attributes. Local: nothing is exchanged. REQUIRES: process.objects is made.
void make_world(Process& process);

/// Lets the user see both, and fills MPI_INFO_ENV. REQUIRES: process.thread_level is final.
void publish_world(Process& process);
/// Hides both again.
void hide_world(Process& process);

}  // namespace tasuki

// MPI_COMM_WORLD, MPI_COMM_SELF, and what is known of the world when a process starts.
#pragma once

#include "base/process.hpp"
#include "base/types.hpp"
#include "object/comm.hpp"

namespace tasuki {

/// Makes MPI_COMM_WORLD and MPI_COMM_SELF, which only the core sees yet, and the values of the predefined
/// attributes. Local: nothing is exchanged. REQUIRES: process.objects is made.
void make_world(Process& process);

/// Lets the user see both, and fills MPI_INFO_ENV. REQUIRES: process.thread_level is final.
void publish_world(Process& process);
/// Hides both again.
void hide_world(Process& process);

/// What MPI_Init and MPI_Finalize meet on: the world once more, since where a rank has left out a call that
/// the others are in, its messages must not be taken for that call's. Where calls are compared, the world
/// itself: then all ranks report the mistake.
Ref<Comm> meeting_of_world(Process& process);

/// The world once more, for the locks of files between nodes (io/file/job_locks.hpp).
Ref<Comm> file_owners_of_world(Process& process);

}  // namespace tasuki

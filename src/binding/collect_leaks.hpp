// Collects what the program has not freed or received when it ends MPI, and hands it to the launcher
// (Launcher::report_leaks). For TASUKI_CHECK=3.
//
// A leak is: a handle that the program had to free; a request that it never completed; a message that a
// matched probe took and the program never received; an attribute key; a message that was never received.
// What MPI frees by itself is none: attached buffers (MPI 3.6), and the communicator of MPI_Comm_get_parent.
// An info or an error handler, which may be freed after MPI_Finalize, is a leak where it was made before.
#pragma once

namespace tasuki {

/// Handles and attribute keys. REQUIRES: the Process is running, and Binding::notes_origins was set all
/// along.
void report_leaked_handles();

/// Messages. REQUIRES: all ranks have met in MPI_Finalize.
void report_unreceived_messages();

}  // namespace tasuki

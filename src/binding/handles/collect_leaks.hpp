// What the program leaves behind when it ends MPI: collected from the handles that it still has, and handed
// to the launcher (Bootstrap::tell_leaks). For TASUKI_CHECK=3.
//
// What counts: handles that the program was to free, and has not; requests that it never completed; messages
// that a matched probe took and nobody received; attribute keys; messages that nobody received. What MPI
// frees by itself does not count: attached buffers (MPI 3.6), nor the handle of MPI_Comm_get_parent, which
// nobody has to disconnect. Objects that may be freed after MPI_Finalize, too, count where they were made
// before it: infos, error handlers.
#pragma once

namespace tasuki {

/// Handles and attribute keys. REQUIRES: the process is still there, and has its origins noted.
void tell_what_is_left();

/// Messages, once all ranks have met in MPI_Finalize.
void tell_messages_left();

}  // namespace tasuki

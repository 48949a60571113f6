// Calling error handlers (MPI 9.3).
#pragma once

#include <string>

#include "base/process.hpp"
#include "base/types.hpp"
#include "object/comm.hpp"

namespace tasuki {

/// What the user reads about `code`: the text of the error log, or else what the class means; a user's code
/// has the text that he gave it.
std::string error_text(const Process& process, Code code);

/// Refuses an error handler that was not made for `owner`'s kind.
Code check_errhandler(Process& process, const Errhandler& errhandler, Kind owner);

/// What MPI_X_set_errhandler and MPI_X_get_errhandler do for a communicator, window, file or session.
Code set_errhandler(Process& process, ErrorOwner& owner, Kind kind, Errhandler* errhandler);
Errhandler* get_errhandler(const ErrorOwner& owner);

/// Calls `handler` for an error on `owner` (a communicator, window, file or session). Returns when the
/// handler does: the predefined MPI_ERRORS_RETURN and a user's function. MPI_ERRORS_ARE_FATAL and
/// MPI_ERRORS_ABORT end the job with one line that names the call (Process::call) and the error.
void call_errhandler(Process& process, const Errhandler& handler, Object* owner, Code code);

}  // namespace tasuki

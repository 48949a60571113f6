// How a session begins and ends, and the names of its process sets (MPI 11.3).
#pragma once

#include <string_view>

#include "base/process.hpp"
#include "base/types.hpp"
#include "object/session.hpp"

namespace tasuki {

/// Whether `name` is that of the process set `set`: upper and lower case are the same (MPI 11.3.2).
bool is_set_name(std::string_view name, std::string_view set);

/// What the info of MPI_Session_init asks for; `level` stays as it is where it asks for nothing.
/// kErrInfoValue: a thread level that is none. `info` may be null.
Code requested_thread_level(Process& process, const Info* info, ThreadLevel* level);

/// What MPI_Session_finalize does: waits for the messages in its buffer. The caller releases the session.
Code finish_session(Session& session);

}  // namespace tasuki

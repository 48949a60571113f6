// Session: one use of MPI apart from MPI_Init (MPI 11.3). It gives groups, from these come communicators.
//
// Life: the binding makes it in MPI_Session_init and finishes it in MPI_Session_finalize; groups and
// communicators that are derived from it keep it alive (its buffer is theirs), but then it has no buffer and
// no handle any more.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/process.hpp"
#include "base/types.hpp"
#include "object/comm.hpp"

namespace tasuki {

struct Session final : ErrorOwner {
  Session(Process& owner, ThreadLevel level, Errhandler* handler);
  ~Session() override;
  std::string description() const override { return "session"; }

  Process& process;
  const ThreadLevel thread_level;  // that it was granted
  BufferPool* buffer = nullptr;    // MPI_Session_attach_buffer
};

/// Whether `name` is that of the process set `set`: no case counts (MPI 11.3.2).
bool is_set_name(std::string_view name, std::string_view set);

/// What the info of MPI_Session_init asks for; `level` stays as it is where it asks for nothing.
/// kErrInfoValue: a thread level that is none. `info` may be null.
Code requested_thread_level(Process& process, const Info* info, ThreadLevel* level);

/// What MPI_Session_finalize does: waits for the messages in its buffer. The caller releases the session.
Code finish_session(Session& session);

/// The name of a thread level: "MPI_THREAD_SINGLE".
const char* thread_level_name(ThreadLevel level);

}  // namespace tasuki

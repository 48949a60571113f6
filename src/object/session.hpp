// Session: one use of MPI apart from MPI_Init (MPI 11.3). It gives groups, from these come communicators.
//
// Life: the binding makes it in MPI_Session_init and finishes it in MPI_Session_finalize; groups and
// communicators that are derived from it keep it alive (its buffer is theirs), but then it has no buffer and
// no handle any more.
#pragma once

#include <string>

#include "base/process.hpp"
#include "base/types.hpp"
#include "object/comm.hpp"

namespace tasuki {

struct Session final : ErrorOwner {
  Session(Process& owner, ThreadLevel level, Errhandler* handler)
      : ErrorOwner(Kind::kSession), process(owner), thread_level(level) {
    errhandler = Ref<Errhandler>::share(handler);
  }
  std::string description() const override { return "session"; }

  Process& process;
  const ThreadLevel thread_level;  // that it was granted
  Slots slots;                     // its buffer (MPI_Session_attach_buffer)
};

/// The name of a thread level: "MPI_THREAD_SINGLE".
const char* thread_level_name(ThreadLevel level);

}  // namespace tasuki

// The life of the library in this program: who uses the one Process, from the first user on.
//
// The world model (MPI_Init .. MPI_Finalize) and every session are users. While there is one, binding.process
// leads to the Process; while there is none it rests, and only the calls that are legal at any time run
// (call.hpp, AnyTime). A rank's thread support is that of its first user: where that is a session, every call
// takes the process lock, so that all later users may have MPI_THREAD_MULTIPLE; where it is MPI_Init below
// that level, they get no more.
//
// Thread safety: all functions are called with life_mutex() held; initialising and finalising are always
// thread-safe (MPI 11.6).
#pragma once

#include <mutex>
#include <string>

#include "base/function.hpp"
#include "base/types.hpp"

namespace tasuki {

std::mutex& life_mutex();

/// A call that begins a use, and where it returns to.
struct Beginning {
  Function function;
  const void* site;
};

/// One more user, who wants that thread level; `locking`: whether every call is to take the process lock.
/// Makes the Process if need be. Returns false, and why in `error`, when this program cannot be a rank.
bool begin_use(ThreadLevel level, bool locking, const Beginning& beginning, std::string* error);

/// What a user who asks for `level` gets. REQUIRES: begin_use().
ThreadLevel granted(ThreadLevel level);

bool is_last_user();

/// One user fewer. REQUIRES: after the last one's, rest() has been called.
void end_use();

}  // namespace tasuki

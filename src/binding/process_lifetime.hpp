// The lifetime of the one Process of this program: it is made for its first user, and kept.
//
// The world model (MPI_Init .. MPI_Finalize) and every session are users. While there is one, binding.process
// leads to the Process; while there is none it rests, and only the calls that are legal at any time run
// (call.hpp, AnyTime). A rank's thread support is that of its first user: where that is a session, every call
// takes the process lock, so that all later users may have MPI_THREAD_MULTIPLE; where it is MPI_Init below
// that level, they get no more.
//
// Thread safety: all functions are called with lifetime_mutex() held; initialising and finalising are always
// thread-safe (MPI 11.6).
#pragma once

#include <mutex>
#include <string>

#include "base/calls/function.hpp"
#include "base/types.hpp"

namespace tasuki {

std::mutex& lifetime_mutex();

/// The call that begins a use, and its return address.
struct Beginning {
  Function function;
  const void* site;
};

/// Adds a user that asks for that thread level; `locking`: every call takes the process lock from now on.
/// Makes the Process for the first user. Returns false, with the reason in `error`, when this program cannot
/// be a rank.
bool begin_use(ThreadLevel level, bool locking, const Beginning& beginning, std::string* error);

/// The thread level that a user gets who asks for `level`. REQUIRES: begin_use().
ThreadLevel granted(ThreadLevel level);

bool is_last_user();

/// Removes a user. REQUIRES: before the last one is removed, rest() has been called.
void end_use();

}  // namespace tasuki

// RankSession: the session that all ranks of this machine are in, and that mpiexec is not in.
//
// The kernel's autogroup (CONFIG_SCHED_AUTOGROUP) divides the processors among sessions. In mpiexec's session
// ranks would share one part with the shell and all that it has started. With a session for each rank a rank
// that calls sched_yield() would not let another one run: the call gives way inside its own session only.
//
// A process begins in the session of the process that makes it, so a helper in the ranks' session makes
// them, as children of mpiexec (CLONE_PARENT). The helper shares mpiexec's memory and descriptors, and runs
// only while start() waits for it; then it sleeps. The kernel kills it when mpiexec dies.
//
// Ranks have no controlling terminal. Each has a process group, which is an orphaned one (its parent is in
// another session), so a rank is stopped by SIGSTOP alone: RankProcesses::signal().
//
// One thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>

#include "launch/host/start_program.hpp"

namespace tasuki::launch {

class RankSession {
 public:
  RankSession();
  ~RankSession();
  RankSession(const RankSession&) = delete;
  RankSession& operator=(const RankSession&) = delete;

  /// Starts the program in the session, as a child of the caller; returns as start_program() does. Where the
  /// helper cannot be made, is gone or may make no process, the program begins in the caller's session.
  Started start(const Start& start);

 private:
  struct Desk;  // what caller and helper hand each other

  static int serve(void* desk);
  void begin();
  bool helper_answers();

  std::unique_ptr<Desk> desk_;
  std::byte* stack_ = nullptr;
  pid_t helper_ = -1;  // -1: none
  bool begun_ = false;
};

}  // namespace tasuki::launch

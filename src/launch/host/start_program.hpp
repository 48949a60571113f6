// Starting one rank's program, as cheaply as the kernel allows, with all that a rank needs.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include <vector>

namespace tasuki::launch {

/// What mpiexec found when it was started and changed for itself; a rank gets the old state back.
struct Inherited {
  sigset_t mask;
  std::vector<int> signals;  // those whose handling mpiexec changed, with their old handling
  std::vector<struct sigaction> actions;
  rlimit files;
};

struct Start {
  const char* path = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* directory = nullptr;        // null: stay here
  int descriptors[3] = {-1, -1, -1};      // its standard input, output and error
  int segment_fd = -1;                    // kept open under the same number
  const cpu_set_t* processors = nullptr;  // null: as mpiexec
  std::size_t processors_bytes = 0;
  const Inherited* inherited = nullptr;
  const char* kill_score = nullptr;  // for set_kill_score(); null: as mpiexec
};

struct Started {
  int pid = -1;           // also its process group; -1: none
  int error = 0;          // errno of what failed
  const char* step = "";  // what failed, in words
};

/// Starts the program in a process group of its own, in the caller's session, as a child of `launcher`: the
/// caller or its parent. It is killed when that one dies. Returns once the program runs. Where `error` is not
/// 0 it does not run, and its process, if there is one, is to be waited for by `launcher`.
Started start_program(const Start& start, pid_t launcher);

}  // namespace tasuki::launch

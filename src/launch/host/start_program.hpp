// Starting one rank's program, as cheaply as the kernel allows (vfork), with all that a rank needs.
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
  int pid = -1;           // also its process group; -1: not started
  int error = 0;          // errno of what failed
  const char* step = "";  // what failed, in words
};

/// Starts the program in a process group of its own. It is killed when mpiexec dies. Returns once the program
/// runs, or what kept it from running.
Started start_program(const Start& start);

}  // namespace tasuki::launch

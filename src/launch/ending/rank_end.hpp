// What it means that a rank ended, and how to say it. Pure.
#pragma once

#include <string>

#include "job/local/job_segment.hpp"

namespace tasuki::launch {

/// How one rank ended.
struct RankEnd {
  int spawn = 0;  // the number of the spawn that it belongs to; 0: the command line's ranks
  int rank = 0;
  int pid = 0;
  std::string host;                          // empty: this one
  int wait_status = 0;                       // as of waitpid
  local::Life life = local::Life::kStarted;  // how far it had come
  int abort_code = 0;                        // when life == kAborting
  std::string abort_message;                 // the same
  std::string memory_exceeded;               // MemoryLimit::exceeded()
  std::string whereabouts;                   // doctor::whereabouts(); empty: unknown
  std::string site;                          // "ring.c:42": of its last call; empty: unknown
  bool in_world = true;                      // it has called MPI_Init
  bool others_in_world = false;              // and so has another rank
};

enum class Verdict {
  kFine,      // nothing to say
  kReturned,  // after MPI_Finalize, with an exit status other than 0: its value counts, the others go on
  kFailed,    // the job must end
};

Verdict judge(const RankEnd& end);

/// The exit status that this end asks of mpiexec: 128 + n for signal n; never 0 for a failure.
int exit_status(const RankEnd& end);

/// The one line about a failed rank. `others` is how many ranks are still running.
std::string failure_message(const RankEnd& end, const std::string& host, int others);

/// "signal 11 (Segmentation fault)"
std::string signal_text(int signal);

}  // namespace tasuki::launch

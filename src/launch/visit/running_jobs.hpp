// The jobs that run on this machine, as another process finds them: an mpiexec has the memory of each of its
// worlds open, and the kernel shows that to processes of the same user, and to no others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/world/world_segment.hpp"

namespace tasuki::launch {

struct RunningJob {
  int pid = 0;                                          // of mpiexec
  std::vector<std::unique_ptr<WorldSegment>> segments;  // of its worlds, the command line's first
};

/// "4711 (mpiexec -n 4 ./ring)": a process with its command line, cut.
std::string described_process(int pid);

/// All of this user's.
std::vector<RunningJob> running_jobs();

/// The job of mpiexec `pid`, or of its child `pid`; 0: the only one of this user. Returns false, and what to
/// do in `error`, when there is none, when there are several, or when it is another user's.
bool find_job(int pid, RunningJob* job, std::string* error);

}  // namespace tasuki::launch

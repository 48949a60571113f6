// The guard: a process that ends the ranks when mpiexec dies without having been able to (SIGKILL, a crash).
//
// The kernel kills the programs that mpiexec started itself (PR_SET_PDEATHSIG), but not what those started: a
// script's own children. The guard holds one end of a pipe whose other end only mpiexec has, so it learns of
// that death at once, and kills the process groups noted in the job segment.
#pragma once

#include "launch/segment.hpp"

namespace tasuki::launch {

class Guard {
 public:
  /// Starts the guard. Without one (no process to be had) the job runs all the same.
  void start(Segment& segment);

  /// Dismisses it: the job is over.
  ~Guard();

 private:
  int pid_ = -1;
  int lifeline_ = -1;
};

}  // namespace tasuki::launch

// `mpiexec --doctor` and `mpiexec --top` without a program: look at a job that runs, from another terminal.
#pragma once

#include <vector>

#include "launch/doctor/examination.hpp"
#include "launch/options/options.hpp"
#include "launch/visit/running_jobs.hpp"

namespace tasuki::launch {

/// Prints what the ranks of that job are in on standard output, or why it cannot on standard error. Returns
/// mpiexec's exit status.
int visit(const Options& options);

/// mpiexec --top without a program: shows a job that runs until it ends, or until q or Ctrl-C, on standard
/// output. Returns the exit status.
int visit_top(const Options& options);

/// The ranks of a job that runs. They lie in its segments.
std::vector<SubjectWorld> subjects_of(const RunningJob& job);

}  // namespace tasuki::launch

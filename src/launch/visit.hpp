// `mpiexec --doctor` without a program: looks at a job that runs, from another terminal.
#pragma once

#include <vector>

#include "launch/examination.hpp"
#include "launch/options.hpp"
#include "launch/running_jobs.hpp"

namespace tasuki::launch {

/// Prints what the ranks of that job are in on standard output, or why it cannot on standard error. Returns
/// mpiexec's exit status.
int visit(const Options& options);

/// The ranks of a job that runs. They lie in its segments.
std::vector<SubjectWorld> subjects_of(const RunningJob& job);

}  // namespace tasuki::launch

// The signals of mpiexec: all that concern the job arrive through one descriptor.
#pragma once

#include "launch/host/start_program.hpp"

namespace tasuki::launch {

/// Blocks the signals that mpiexec answers and ignores those that would stop or kill it while it forwards
/// output. A signal that was ignored when mpiexec was started (nohup) stays ignored. `inherited` gets what
/// the ranks are to find. Returns the descriptor, close-on-exec and non-blocking, or -1.
int take_over_signals(Inherited* inherited);

/// The next signal from the descriptor, or 0.
int next_signal(int signal_fd);

}  // namespace tasuki::launch

// The life of a Process: made by MPI_Init, unmade by MPI_Finalize. The only place that knows all its parts.
#pragma once

#include <memory>
#include <string>

#include "base/process.hpp"
#include "base/types.hpp"
#include "runtime/bootstrap.hpp"

namespace tasuki {

/// Makes this rank: transport, progress, predefined objects, MPI_COMM_WORLD and MPI_COMM_SELF; returns once
/// all ranks of the job have done so. `required` is granted as it is.
std::unique_ptr<Process> make_process(Bootstrap& bootstrap, const Config& config, ThreadLevel required);

/// A Process with nothing but objects, for the calls that are legal before MPI_Init and after MPI_Finalize.
/// An error that must end the program prints one line and exits. Never unmade: such calls may come until the
/// end.
Process* make_outside_process();

/// What MPI_Finalize does (MPI 11.2.2): deletes MPI_COMM_SELF's attributes, completes what is still under way
/// and returns once all ranks of the job have come here. Afterwards only destruction is legal.
Code finalize_process(Process& process);

}  // namespace tasuki

// The life of a Process. The only place that knows all its parts.
//
// A rank has one Process from the first call that initialises MPI to the end of the program: a rank of a job
// can be claimed once, and the rings of its peers go on where they are. The world model (MPI_Init) and each
// session are its users; between the last user's end and the next one's start it rests.
#pragma once

#include <memory>
#include <string>

#include "base/process.hpp"
#include "base/types.hpp"
#include "job/starter.hpp"

namespace tasuki {

/// Makes this rank: link, progress, predefined objects. Local: a session needs no other rank.
std::unique_ptr<Process> make_process(Starter& starter, const Config& config, ThreadLevel required);

/// A Process with nothing but objects, for the calls that are legal before MPI_Init and after MPI_Finalize.
/// An error that must end the program prints one line and exits. Never unmade: such calls may come until the
/// end.
Process* make_outside_process();

/// For the first user after a rest. `locking`: whether calls hold the process lock.
void set_thread_level(Process& process, ThreadLevel level, bool locking);

/// What MPI_Init does: MPI_COMM_WORLD and MPI_COMM_SELF are there; returns once all ranks have come here.
Code start_world(Process& process);

/// What MPI_Finalize does first (MPI 11.2.4): deletes MPI_COMM_SELF's attributes, whose callbacks may free
/// what the program has.
Code begin_end_of_world(Process& process);

/// What MPI_Finalize does then (MPI 11.2.2): completes what is still under way and returns once all ranks of
/// the job have come here. Sessions go on.
Code finish_world(Process& process);

/// The last user has gone: completes what this rank has to send, and reports that it is
/// finalised. Afterwards the Process is destroyed, or used again.
void rest(Process& process);

}  // namespace tasuki

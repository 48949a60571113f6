// The owners of range locks in a job on several nodes: every rank serves from MPI_Init to MPI_Finalize
// (io/shared/owner_service.hpp, io/shared/range_locks.hpp). Where the job is on one node none of these does
// anything.
//
// Thread safety: the process lock.
#pragma once

#include "base/process.hpp"

namespace tasuki {

/// In MPI_Init, before all ranks meet.
void start_job_locks(Process& process);
/// In MPI_Finalize, before all ranks meet. This rank goes on serving the others.
void settle_job_locks(Process& process);
/// In MPI_Finalize, after all ranks have met.
void end_job_locks(Process& process);

}  // namespace tasuki

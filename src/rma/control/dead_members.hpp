// What a rank that waits for others of a window does about members that belong to other jobs: their end does
// not end this job by itself.
#pragma once

#include "object/comm.hpp"

namespace tasuki::rma {

/// Ends the job if a member of `comm` that belongs to another job has died: it may hold a lock, or owe an
/// answer. Cheap where all are of this job.
void end_if_member_died(const Comm& comm);

}  // namespace tasuki::rma

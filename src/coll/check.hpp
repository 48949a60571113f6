// The checks of a collective's arguments that the binding cannot make, because they need several arguments
// or the communicator. Each returns 0 or the code of an error with its text.
#pragma once

#include "base/types.hpp"
#include "coll/algorithms.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "object/op.hpp"

namespace tasuki {

/// Collectives on intercommunicators do not exist yet.
Code check_intracommunicator(Comm& comm);

/// `buffer`, the argument `name`, must not be MPI_IN_PLACE; `where_legal` says where it may be.
Code check_not_in_place(Process& process, const char* name, const void* buffer, const char* where_legal);

/// The counts of a call's array (`name`, one for each rank) must not be negative.
Code check_counts(Process& process, const char* name, CountArray counts, int size);

/// MPI 6.2: send and receive buffer must not overlap. Detects the usual slip: both begin with the same byte.
Code check_distinct(Process& process, const void* sendbuf, const Elements& mine, const void* recvbuf,
                    const Blocks& all, int size);
Code check_distinct(Process& process, const void* sendbuf, const Blocks& out, const void* recvbuf,
                    const Blocks& in, int size);
Code check_distinct(Process& process, const void* sendbuf, const void* recvbuf, const Datatype& datatype,
                    Count count);

}  // namespace tasuki

// Processes of other jobs, as the rest of the core gets to know them (MPI 11.7): by names and addresses,
// which travel, to endpoints, which are this process's own numbers.
#pragma once

#include "base/process.hpp"
#include "base/types.hpp"
#include "link/peer_address.hpp"

namespace tasuki {

/// What an endpoint is called everywhere.
ProcessName process_name(Process& process, int endpoint);

/// Where this process is reached from other jobs. Makes it reachable. Raises MPI_ERR_OTHER.
Code own_address(Process& process, PeerAddress* address);

/// The endpoint of the process at `address`; from now on this one can send to it. Raises MPI_ERR_OTHER.
Code join_endpoint(Process& process, const PeerAddress& address, int* endpoint);

/// `comm` is freed, and its processes stay connected; or it is disconnected, and they do not, unless by
/// another communicator that there is (MPI 11.10.4).
void keep_connected(const Comm& comm);
void end_connection(const Comm& comm);

/// The end of MPI_Finalize, once all that this process sends has left: returns when all connected processes
/// of other jobs are as far (MPI 11.2.2). It does not wait for those that have died, but reports them.
void finish_with_connected(Process& process);

}  // namespace tasuki

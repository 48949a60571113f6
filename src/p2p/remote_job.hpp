// Processes of other jobs, as the rest of the core gets to know them (MPI 11.7): by names and addresses,
// which travel, to endpoints, which are this process's own numbers.
#pragma once

#include <cstdint>

#include "base/process.hpp"
#include "base/types.hpp"
#include "link/peer_address.hpp"

namespace tasuki {

/// What an endpoint is called everywhere.
ProcessName process_name(Process& process, int endpoint);

/// From where a process is to be reached.
enum class Reach : std::uint8_t {
  kMachine,  // by those that share memory with it; by others too where it has a network already
  kHosts,    // by all, where there is a network
};

/// Where this process is reached from other jobs. Makes it reachable. Raises MPI_ERR_OTHER.
Code own_address(Process& process, Reach reach, PeerAddress* address);
/// The reach of what this job spawns, and of those that have spawned it.
Reach reach_of_family(const Process& process);
/// Whether the address is of a process that shares no memory with this one.
bool is_elsewhere(const Process& process, const PeerAddress& address);

/// The endpoint of the process at `address`; from now on this one can send to it. Raises MPI_ERR_OTHER.
Code join_endpoint(Process& process, const PeerAddress& address, int* endpoint);

/// `comm` is freed, and its processes stay connected; or it is disconnected, and they do not, unless by
/// another communicator that there is (MPI 11.10.4).
void keep_connected(const Comm& comm);
void end_connection(const Comm& comm);

/// Tells the launcher which jobs this process is connected to, where that has changed: after communicators,
/// windows and files have been made or have gone.
void tell_connections(Process& process);

/// The end of MPI_Finalize, once all that this process sends has left: returns when all connected processes
/// of other jobs are as far (MPI 11.2.2). It does not wait for those that have died, but reports them.
void finish_with_connected(Process& process);

}  // namespace tasuki

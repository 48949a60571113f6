// Small collectives that the rest of the core uses itself (making communicators, windows, files).
// The user's calls are declared in coll/api.hpp.
#pragma once

#include <functional>

#include "base/types.hpp"
#include "object/comm.hpp"
#include "p2p/request.hpp"

namespace tasuki {

/// Returns once all ranks have come here, by messages alone. Blocking; on an intracommunicator.
Code barrier_by_messages(Comm& comm);

/// Every rank contributes `bytes` at `mine` and gets all, in rank order, at `all` (size() * bytes). Blocking;
/// on an intracommunicator. Over its node segment, where it has one; else messages travel in the collective
/// plane.
Code allgather_bytes(Comm& comm, const void* mine, void* all, Count bytes);

/// Rank `root`'s `bytes` at `data` reach all. Blocking. Over the node segment as above.
Code bcast_bytes(Comm& comm, void* data, Count bytes, int root);

/// Every rank has `bytes` for each rank at `out`, in rank order, and gets as much from each at `in`.
/// Blocking.
Code alltoall_bytes(Comm& comm, const void* out, void* in, Count bytes);
/// The same with the sizes and places of the blocks, in bytes.
Code alltoallv_bytes(Comm& comm, const void* out, CountArray out_bytes, CountArray out_places, void* in,
                     CountArray in_bytes, CountArray in_places);

/// On an intercommunicator: every rank contributes `bytes` at `mine` and gets those of the remote group, in
/// rank order, at `all`. Blocking.
Code allgather_remote_bytes(Comm& comm, const void* mine, void* all, Count bytes);

/// Nonblocking forms. `data`/`mine`/`all` stay valid until the request is done; `then` runs once, just before
/// the request becomes done (used by MPI_Comm_idup to finish the new communicator).
Request* start_bcast_bytes(Comm& comm, void* data, Count bytes, int root, std::function<void()> then);

Request* start_allgather_bytes(Comm& comm, const void* mine, void* all, Count bytes);

/// On an intercommunicator: at `both`, which rank 0 of each group begins with `bytes` of its own, all ranks
/// get these of their group, and behind them those of the remote group. As start_bcast_bytes else.
Request* start_exchange_of_leaders(Comm& comm, void* both, Count bytes, std::function<void()> then);

/// Whether a nonblocking or persistent collective on `comm` is under way at this rank.
bool has_open_collectives(const Comm& comm);

}  // namespace tasuki

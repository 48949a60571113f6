// What the rest of the core asks of point-to-point communication: messages inside a communicator's planes.
// The user's calls are declared in p2p/call/api.hpp.
#pragma once

#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "p2p/request.hpp"

namespace tasuki {

/// Starts a send in the standard mode. Arguments are valid already. The caller owns the request's reference.
/// `dest` may be kProcNull. Never blocks.
Request* start_send(const void* buffer, Count count, Datatype& datatype, int dest, int tag, Comm& comm,
                    Plane plane);

/// The same in the synchronous mode: the request is done only once the message has met its receive, so that
/// a rank that waits for it never runs far ahead of the receiver.
Request* start_synchronous_send(const void* buffer, Count count, Datatype& datatype, int dest, int tag,
                                Comm& comm, Plane plane);

/// Sends a whole message in one packet now, if its protocol, its peer's queue and the FIFO allow; else
/// returns false, and nothing has happened. `dest` is a rank of `comm`.
bool send_at_once(const void* buffer, Count count, const Datatype& datatype, int dest, int tag, Comm& comm,
                  Plane plane);

/// Starts a receive. `source` may be kAnySource or kProcNull, `tag` kAnyTag. Never blocks.
Request* start_receive(void* buffer, Count count, Datatype& datatype, int source, int tag, Comm& comm,
                       Plane plane);

/// Calls the error handler of what `request` belongs to with `code`, which the present call returns. Returns
/// `code`.
Code blame_owner(Process& process, Request& request, Code code);

/// Waits for one request, copies its status (unless null), and releases it.
Code wait_and_release(Request* request, Status* status);

/// Blocking forms of the above.
Code send_message(const void* buffer, Count count, Datatype& datatype, int dest, int tag, Comm& comm,
                  Plane plane);
Code receive_message(void* buffer, Count count, Datatype& datatype, int source, int tag, Comm& comm,
                     Plane plane, Status* status);

/// Whether a send or receive of this rank on `comm`, in any plane, has been started and is not over.
bool has_open_operations(Comm& comm);

}  // namespace tasuki

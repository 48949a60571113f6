// Request: an operation that has been started and not yet been waited for.
//
// Subclasses: SendRequest, RecvRequest, GeneralizedRequest … (p2p/), CollectiveRequest (coll/). Later
// chapters add theirs.
//
// Life: started by a call, which returns it with one reference for the user. When the operation is over, the
// engine calls complete(). Wait/test then give the status and release a nonpersistent request; a persistent
// one becomes inactive. The engine holds a reference of its own while it works on a request, so
// MPI_Request_free is just release.
#pragma once

#include <cstdint>

#include "base/calls/call_board.hpp"
#include "base/types.hpp"
#include "object/comm.hpp"
#include "object/object.hpp"

namespace tasuki {

/// Which subclass it is; there is no RTTI.
enum class RequestType : std::uint8_t {
  kSent,
  kSend,
  kReceive,
  kSendReceive,
  kPartitionedSend,
  kPartitionedReceive,
  kFlush,
  kGeneralized,
  kCollective,
  kRma,
  kFile,
};

struct Request : Object {
  Request(RequestType its_type, Comm& on)
      : Object(Kind::kRequest),
        comm(Ref<Comm>::share(&on)),
        request_type(its_type),
        function(function_of(on.process.line)),
        site(on.process.line.site.load(std::memory_order_relaxed)) {}

  Ref<Comm> comm;       // null of SentRequest alone
  bool active = false;  // started and not yet waited for
  bool done = false;    // the operation is over; status is final
  bool persistent = false;
  bool has_pending_buffers = false;  // Process::checks knows it
  const RequestType request_type;
  const Function function = Function::kNone;  // the call that made it, and where that returns to: for reports
  const std::uint64_t site = 0;               //
  Status status;                              // .error holds the operation's error code

  /// Starts a persistent request again. Errors are those of the call that made it.
  virtual Code start();
  /// Asks for cancellation (MPI 3.8.4); local, returns at once. Does nothing where it is too late.
  virtual Code cancel() { return 0; }

  /// The object whose error handler is called with its errors.
  virtual ErrorOwner* error_owner() { return comm.get(); }

  void complete() { done = true; }

 protected:
  Request() : Object(Kind::kRequest), request_type(RequestType::kSent) {}
};

/// What the user gets for every send that was over before its call returned: one request of the Process,
/// which each of them has one reference to. It belongs to no communicator, and has no error.
struct SentRequest final : Request {
  explicit SentRequest(Process& owner) : process(owner) {
    active = true;
    done = true;
  }
  Code start() override;

  Process& process;
};

}  // namespace tasuki

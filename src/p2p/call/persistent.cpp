// Persistent requests (MPI 3.9): made once, started many times.
#include "p2p/call/api.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/point_to_point.hpp"

namespace tasuki {

namespace {

Code refuse_active(Process& process, const Request& request) {
  if (!request.active) return kSuccess;
  return process.fail(kErrRequest, "the persistent request is active, expected it to be completed first");
}

Code make_persistent_send(const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm,
                          SendMode mode, Request** request) {
  if (Code code = check_size(comm->process, count, *datatype)) return code;
  SendRequest* send =
      comm->process.p2p->make_send(buf, count, *datatype, dest, tag, *comm, Plane::kPointToPoint, mode);
  send->persistent = send->returns_soon = true;
  send->active = false;
  *request = send;
  return kSuccess;
}

}  // namespace

Code SendRequest::start() {
  if (!persistent) return Request::start();
  Process& process = comm->process;
  if (Code code = refuse_active(process, *this)) return code;
  if (mode == SendMode::kBuffered) {
    if (Code code = send_buffered(buffer, count, *datatype, dest, envelope.tag, *comm)) return code;
    active = done = true;
    return kSuccess;
  }
  MessageChecks* const checks = process.p2p->checks.get();
  if (checks != nullptr && dest != kProcNull) {
    if (Code code = checks->before_send(buffer, count, *datatype)) return code;
  }
  active = true;
  done = opened = pushed = answered = cancelling = false;
  status = kEmptyStatus;
  cursor.seek(0);
  if (checks != nullptr) checks->began(*this);
  process.p2p->begin(*this);
  return kSuccess;
}

Code ReceiveRequest::start() {
  if (!persistent) return Request::start();
  Process& process = comm->process;
  if (Code code = refuse_active(process, *this)) return code;
  MessageChecks* const checks = process.p2p->checks.get();
  if (checks != nullptr && source != kProcNull) {
    if (Code code = checks->before_receive(buffer, cursor.count(), *datatype)) return code;
  }
  active = true;
  done = false;
  status = kEmptyStatus;
  cursor.seek(0);
  if (checks != nullptr) checks->began(*this);
  process.p2p->begin(*this);
  return kSuccess;
}

namespace api {

Code send_init(Process&, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm,
               Request** request) {
  return make_persistent_send(buf, count, datatype, dest, tag, comm, SendMode::kStandard, request);
}

Code bsend_init(Process&, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm,
                Request** request) {
  return make_persistent_send(buf, count, datatype, dest, tag, comm, SendMode::kBuffered, request);
}

Code ssend_init(Process&, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm,
                Request** request) {
  return make_persistent_send(buf, count, datatype, dest, tag, comm, SendMode::kSynchronous, request);
}

Code rsend_init(Process&, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm,
                Request** request) {
  return make_persistent_send(buf, count, datatype, dest, tag, comm, SendMode::kReady, request);
}

Code recv_init(Process& process, void* buf, Count count, Datatype* datatype, int source, int tag, Comm* comm,
               Request** request) {
  if (Code code = check_size(process, count, *datatype)) return code;
  ReceiveRequest* receive =
      process.p2p->make_receive(buf, count, *datatype, source, tag, *comm, Plane::kPointToPoint);
  receive->persistent = true;
  receive->active = false;
  *request = receive;
  return kSuccess;
}

Code start(Process& process, Request** request) {
  const Code code = (*request)->start();
  return code == kSuccess ? code : blame_owner(process, **request, code);
}

Code startall(Process& process, Count count, Request** requests) {
  for (Count i = 0; i < count; ++i) {
    if (const Code code = start(process, &requests[i])) return code;
  }
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki

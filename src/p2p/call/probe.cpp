// Probe and matched probe (MPI 3.8): what has arrived, and is not received yet.
#include "base/predefined.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/point_to_point.hpp"
#include "progress/progress.hpp"

namespace tasuki {

void make_predefined_message(Objects& objects) {
  Message* no_proc = new Message;
  no_proc->predefined = kMpiMessageNoProc;
  objects.predefined[kMpiMessageNoProc] = no_proc;
}

namespace {

constexpr Status kProcNullStatus{.source = kProcNull};

Message* find(Comm& comm, int source, int tag) {
  const Context context = comm.context | static_cast<Context>(Plane::kPointToPoint);
  auto* const found = static_cast<Message*>(comm.process.p2p->matching.find_arrived(context, source, tag));
  if (found != nullptr) check_source(comm, found->source, found->endpoint);
  return found;
}

Message* wait_for(Comm& comm, int source, int tag) {
  Message* message = nullptr;
  PointToPoint& p2p = *comm.process.p2p;
  comm.process.progress->wait_until([&] {
    message = find(comm, source, tag);
    if (message == nullptr) p2p.end_if_forsaken(comm, source);
    return message != nullptr;
  });
  return message;
}

Message* look_for(Comm& comm, int source, int tag) {
  if (Message* message = find(comm, source, tag)) return message;
  comm.process.progress->poll_once();
  return find(comm, source, tag);
}

void put(Status* status, const Status& value) {
  if (status != nullptr) *status = value;
}

Message* no_proc(Process& process) {
  return static_cast<Message*>(process.objects->predefined[kMpiMessageNoProc]);
}

/// Out of the matching queue: no receive or probe will see it any more.
Message* take(Comm& comm, Message* message) {
  comm.process.p2p->matching.remove(message);
  message->comm = Ref<Comm>::share(&comm);
  return message;
}

/// A receive of a message that a matched probe took.
ReceiveRequest* receive_taken(void* buf, Count count, Datatype& datatype, Message& message) {
  PointToPoint& p2p = *message.comm->process.p2p;
  ReceiveRequest* request = p2p.make_receive(buf, count, datatype, message.source, message.tag, *message.comm,
                                             Plane::kPointToPoint);
  if (p2p.checks != nullptr) p2p.checks->began(*request);
  p2p.accept(*retain(request), &message);
  return request;
}

}  // namespace

namespace api {

Code probe(Process&, int source, int tag, Comm* comm, Status* status) {
  put(status, source == kProcNull ? kProcNullStatus : wait_for(*comm, source, tag)->envelope());
  return kSuccess;
}

Code iprobe(Process&, int source, int tag, Comm* comm, bool* flag, Status* status) {
  *flag = true;
  if (source == kProcNull) {
    put(status, kProcNullStatus);
    return kSuccess;
  }
  const Message* message = look_for(*comm, source, tag);
  *flag = message != nullptr;
  if (message != nullptr) put(status, message->envelope());
  return kSuccess;
}

Code mprobe(Process& process, int source, int tag, Comm* comm, Message** message, Status* status) {
  if (source == kProcNull) {
    *message = no_proc(process);
    put(status, kProcNullStatus);
    return kSuccess;
  }
  *message = take(*comm, wait_for(*comm, source, tag));
  put(status, (*message)->envelope());
  return kSuccess;
}

Code improbe(Process& process, int source, int tag, Comm* comm, bool* flag, Message** message,
             Status* status) {
  if (source == kProcNull) {
    *flag = true;
    return mprobe(process, source, tag, comm, message, status);
  }
  Message* found = look_for(*comm, source, tag);
  *flag = found != nullptr;
  *message = nullptr;
  if (found == nullptr) return kSuccess;
  *message = take(*comm, found);
  put(status, found->envelope());
  return kSuccess;
}

Code mrecv(Process& process, void* buf, Count count, Datatype* datatype, Message** message, Status* status) {
  if ((*message)->predefined != 0) {
    *message = nullptr;
    put(status, kProcNullStatus);
    return kSuccess;
  }
  Request* request = nullptr;
  if (Code code = imrecv(process, buf, count, datatype, message, &request)) return code;
  return wait_and_release(request, status);
}

Code imrecv(Process& process, void* buf, Count count, Datatype* datatype, Message** message,
            Request** request) {
  if (Code code = check_size(process, count, *datatype)) return code;
  if (MessageChecks* const checks = process.p2p->checks.get()) {
    if (Code code = checks->before_receive(buf, count, *datatype)) return code;
  }
  if ((*message)->predefined != 0) {
    *request = start_receive(buf, count, *datatype, kProcNull, kAnyTag, *process.objects->world,
                             Plane::kPointToPoint);
  } else {
    *request = receive_taken(buf, count, *datatype, **message);
  }
  *message = nullptr;
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki

// Send-receive (MPI 3.10): a send and a receive that cannot block each other.
#include <memory>

#include "base/user_memory.hpp"
#include "p2p/call/api.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/large/large.hpp"
#include "p2p/point_to_point.hpp"
#include "p2p/waiting_call.hpp"

namespace tasuki {

namespace {

constexpr Count kStackBytesMax = 1024;  // up to here sendrecv_replace copies to the stack

/// With TASUKI_CHECK: of a call with two buffers.
Code check_buffers(const void* sendbuf, Count sendcount, Datatype& sendtype, int dest, void* recvbuf,
                   Count recvcount, Datatype& recvtype, int source, Comm& comm) {
  MessageChecks* const checks = comm.process.p2p->checks.get();
  if (checks == nullptr) return kSuccess;
  if (dest == kProcNull)
    return source == kProcNull ? kSuccess : checks->before_receive(recvbuf, recvcount, recvtype, "recvbuf");
  if (source == kProcNull) return checks->before_send(sendbuf, sendcount, sendtype, "sendbuf");
  return checks->before_exchange(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype);
}

/// With TASUKI_CHECK: of one whose data are sent from a copy of `count` elements.
Code check_replaced(void* buf, Count count, Datatype& datatype, int source, Comm& comm) {
  MessageChecks* const checks = comm.process.p2p->checks.get();
  if (checks == nullptr || source == kProcNull) return kSuccess;
  return checks->before_receive(buf, count, datatype);
}

/// The send of a sendrecv: at once where that is possible, else by a request. Null: it is over.
Request* start_send_part(const void* buffer, Count count, Datatype& datatype, int dest, int tag, Comm& comm) {
  if (dest == kProcNull) return nullptr;
  if (send_at_once(buffer, count, datatype, dest, tag, comm, Plane::kPointToPoint)) return nullptr;
  return start_send(buffer, count, datatype, dest, tag, comm, Plane::kPointToPoint);
}

Code exchange(const void* sendbuf, Count sendcount, Datatype& sendtype, int dest, int sendtag, void* recvbuf,
              Count recvcount, Datatype& recvtype, int source, int recvtag, Comm& comm, Status* status) {
  Request* receive;
  Request* send;
  {
    const LargeMessages::Exchange both_begin(*comm.process.p2p->large);
    receive = start_receive(recvbuf, recvcount, recvtype, source, recvtag, comm, Plane::kPointToPoint);
    send = start_send_part(sendbuf, sendcount, sendtype, dest, sendtag, comm);
  }
  Code sent = kSuccess;
  if (send != nullptr) {
    Request* const both[] = {receive, send};
    const WaitingCall waiting(*comm.process.p2p, both, 2, Awaits::kAll);
    sent = wait_and_release(send, nullptr);
  }
  const Code received = wait_and_release(receive, status);
  return received != kSuccess ? received : sent;
}

Request* start_exchange(std::unique_ptr<std::byte[]> copy, const void* sendbuf, Count sendcount,
                        Datatype& sendtype, int dest, int sendtag, void* recvbuf, Count recvcount,
                        Datatype& recvtype, int source, int recvtag, Comm& comm) {
  PointToPoint& p2p = *comm.process.p2p;
  auto* pair = new SendReceiveRequest(comm);
  pair->copy = std::move(copy);
  pair->receive = Ref<ReceiveRequest>(
      p2p.make_receive(recvbuf, recvcount, recvtype, source, recvtag, comm, Plane::kPointToPoint));
  pair->send = Ref<SendRequest>(p2p.make_send(sendbuf, sendcount, sendtype, dest, sendtag, comm,
                                              Plane::kPointToPoint, SendMode::kStandard));
  pair->receive->pair = pair->send->pair = retain(pair);
  if (p2p.checks != nullptr) p2p.checks->began_exchange(*pair, *pair->send, *pair->receive);
  const LargeMessages::Exchange both_begin(*p2p.large);
  p2p.begin(*pair->receive);
  p2p.begin(*pair->send);
  return pair;
}

}  // namespace

namespace api {

Code sendrecv(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, int dest,
              int sendtag, void* recvbuf, Count recvcount, Datatype* recvtype, int source, int recvtag,
              Comm* comm, Status* status) {
  if (Code code = check_size(process, sendcount, *sendtype)) return code;
  if (Code code = check_size(process, recvcount, *recvtype)) return code;
  if (Code code =
          check_buffers(sendbuf, sendcount, *sendtype, dest, recvbuf, recvcount, *recvtype, source, *comm))
    return code;
  return exchange(sendbuf, sendcount, *sendtype, dest, sendtag, recvbuf, recvcount, *recvtype, source,
                  recvtag, *comm, status);
}

Code sendrecv_replace(Process& process, void* buf, Count count, Datatype* datatype, int dest, int sendtag,
                      int source, int recvtag, Comm* comm, Status* status) {
  if (Code code = check_size(process, count, *datatype)) return code;
  if (Code code = check_replaced(buf, count, *datatype, source, *comm)) return code;
  const Count bytes = count * datatype->size;
  std::byte stack[kStackBytesMax];
  std::unique_ptr<std::byte[]> heap;
  if (bytes > kStackBytesMax) {
    heap = allocate_for_user(bytes);
    if (heap == nullptr) return fail_memory(process, "count", count);
  }
  std::byte* copy = heap != nullptr ? heap.get() : stack;
  pack_all(process, buf, count, *datatype, copy);
  MessageChecks* const checks = process.p2p->checks.get();
  if (checks != nullptr && dest != kProcNull) checks->seal_next_as(count, *datatype);
  return exchange(copy, bytes, byte_type(process), dest, sendtag, buf, count, *datatype, source, recvtag,
                  *comm, status);
}

Code isendrecv(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, int dest,
               int sendtag, void* recvbuf, Count recvcount, Datatype* recvtype, int source, int recvtag,
               Comm* comm, Request** request) {
  if (Code code = check_size(process, sendcount, *sendtype)) return code;
  if (Code code = check_size(process, recvcount, *recvtype)) return code;
  if (Code code =
          check_buffers(sendbuf, sendcount, *sendtype, dest, recvbuf, recvcount, *recvtype, source, *comm))
    return code;
  *request = start_exchange(nullptr, sendbuf, sendcount, *sendtype, dest, sendtag, recvbuf, recvcount,
                            *recvtype, source, recvtag, *comm);
  return kSuccess;
}

Code isendrecv_replace(Process& process, void* buf, Count count, Datatype* datatype, int dest, int sendtag,
                       int source, int recvtag, Comm* comm, Request** request) {
  if (Code code = check_size(process, count, *datatype)) return code;
  if (Code code = check_replaced(buf, count, *datatype, source, *comm)) return code;
  const Count bytes = count * datatype->size;
  std::unique_ptr<std::byte[]> copy = allocate_for_user(bytes);
  if (copy == nullptr) return fail_memory(process, "count", count);
  pack_all(process, buf, count, *datatype, copy.get());
  const std::byte* data = copy.get();
  if (MessageChecks* const checks = process.p2p->checks.get()) checks->seal_next_as(count, *datatype);
  *request = start_exchange(std::move(copy), data, bytes, byte_type(process), dest, sendtag, buf, count,
                            *datatype, source, recvtag, *comm);
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki

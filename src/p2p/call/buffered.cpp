// The buffered mode: bsend, and attach, detach and flush (MPI 3.6).

#include <algorithm>
#include <memory>

#include "base/user_memory.hpp"
#include "object/objects.hpp"
#include "object/session.hpp"
#include "p2p/buffer_pool.hpp"
#include "p2p/call/api.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/large/large.hpp"
#include "p2p/point_to_point.hpp"

namespace tasuki {

// ----- sending ---------------------------------------------------------------------------------------------

namespace {

/// The communicator's own buffer, else its session's, else the process's (MPI 3.6).
BufferPool* pool_for(const Comm& comm) {
  if (BufferPool* own = comm.slots.get(kBufferSlot)) return own;
  if (comm.session) {
    if (BufferPool* pool = static_cast<const Session&>(*comm.session).slots.get(kBufferSlot)) return pool;
  }
  return comm.process.p2p->buffer.get();
}

/// Where a receive waits whose buffer is symmetric memory a large message goes there in one copy, and needs
/// no buffer on the way.
bool write_alone(const void* buffer, Count count, Datatype& datatype, int dest, int tag, Comm& comm) {
  PointToPoint& p2p = *comm.process.p2p;
  const Count bytes = count * datatype.size;
  if (bytes < p2p.table.sender_write_bytes_min || p2p.checks != nullptr ||
      !p2p.large->may_claim(comm.endpoint(dest), bytes)) {
    return false;
  }
  const Ref<SendRequest> request(
      p2p.make_send(buffer, count, datatype, dest, tag, comm, Plane::kPointToPoint, SendMode::kBuffered));
  return p2p.write_alone(*request);
}

}  // namespace

Code send_buffered(const void* buffer, Count count, Datatype& datatype, int dest, int tag, Comm& comm) {
  if (dest == kProcNull) return kSuccess;
  Process& process = comm.process;
  PointToPoint& p2p = *process.p2p;
  if (Code code = check_size(process, count, datatype)) return code;
  BufferPool* pool = pool_for(comm);
  if (pool == nullptr) {
    return process.fail(kErrBuffer,
                        "no buffer is attached, expected one by MPI_Buffer_attach or "
                        "MPI_Comm_attach_buffer before a send in the buffered mode");
  }
  const Count bytes = count * datatype.size;
  // What leaves at once needs no more of the buffer than that there be room.
  const bool has_room = pool->has_room(bytes);
  if (has_room && send_at_once(buffer, count, datatype, dest, tag, comm, Plane::kPointToPoint))
    return kSuccess;
  if (has_room && write_alone(buffer, count, datatype, dest, tag, comm)) return kSuccess;
  BufferEntry* entry = pool->take(bytes);
  if (entry == nullptr) {
    process.progress->poll_once();  // earlier messages may have left by now
    entry = pool->take(bytes);
  }
  if (entry == nullptr && pool->automatic()) return fail_memory(process, "count", count);
  if (entry == nullptr) {
    return process.fail(
        kErrBuffer,
        "a message of %lld bytes needs %lld of the attached buffer, which holds %lld, "
        "%lld of them in use",
        static_cast<long long>(bytes),
        static_cast<long long>(BufferPool::bytes_taken_by(std::min(bytes, BufferPool::kBufferedBytesMax))),
        static_cast<long long>(pool->size()), static_cast<long long>(pool->bytes_used()));
  }
  if (!has_room && send_at_once(buffer, count, datatype, dest, tag, comm, Plane::kPointToPoint)) {
    pool->give_back(entry);
    return kSuccess;
  }
  pack_all(process, buffer, count, datatype, entry->data);
  if (p2p.checks != nullptr) p2p.checks->seal_next_as(count, datatype);
  const Ref<SendRequest> request(p2p.make_send(entry->data, bytes, byte_type(process), dest, tag, comm,
                                               Plane::kPointToPoint, SendMode::kStandard));
  request->pool = pool;
  request->entry = entry;
  p2p.begin(*request);
  return kSuccess;
}

// ----- the user's calls ------------------------------------------------------------------------------------

namespace {

Code attach(Process& process, bool attached, void* buffer, Count size) {
  if (attached) {
    return process.fail(kErrBuffer, "a buffer is attached already, expected it to be detached first");
  }
  if (buffer == nullptr && size > 0) {
    return process.fail(kErrBuffer, "buffer = NULL with size = %lld, expected an address",
                        static_cast<long long>(size));
  }
  return kSuccess;
}

/// Waits for the pool's messages to leave, and tells the user what was attached.
Code detach(Process& process, BufferPool* pool, void** address, Count* size) {
  if (pool == nullptr) return process.fail(kErrBuffer, "no buffer is attached, expected one");
  pool->wait_until_empty(process);
  *address = pool->start();
  *size = pool->size();
  return kSuccess;
}

Code flush(Process& process, BufferPool* pool) {
  if (pool != nullptr) pool->wait_until_empty(process);
  return kSuccess;
}

Code start_flush(Comm& comm, BufferPool* pool, Request** request) {
  auto* flushing = new FlushRequest(comm);
  if (pool != nullptr) {
    pool->notify(flushing);
  } else {
    flushing->complete();
  }
  *request = flushing;
  return kSuccess;
}

}  // namespace

namespace api {

Code bsend(Process&, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm) {
  return send_buffered(buf, count, *datatype, dest, tag, *comm);
}

Code ibsend(Process& process, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm,
            Request** request) {
  if (Code code = send_buffered(buf, count, *datatype, dest, tag, *comm)) return code;
  *request = retain(&process.p2p->sent);  // the message is on its way or in the buffer
  return kSuccess;
}

Code buffer_attach(Process& process, void* buffer, Count size) {
  if (Code code = attach(process, process.p2p->buffer != nullptr, buffer, size)) return code;
  process.p2p->buffer = std::make_unique<BufferPool>(buffer, size, process.counters);
  return kSuccess;
}

Code buffer_detach(Process& process, void** buffer_addr, Count* size) {
  if (Code code = detach(process, process.p2p->buffer.get(), buffer_addr, size)) return code;
  process.p2p->buffer.reset();
  return kSuccess;
}

Code buffer_flush(Process& process) {
  return flush(process, process.p2p->buffer.get());
}

Code buffer_iflush(Process& process, Request** request) {
  return start_flush(*process.objects->self, process.p2p->buffer.get(), request);
}

Code session_attach_buffer(Process& process, Session* session, void* buffer, Count size) {
  if (Code code = attach(process, session->slots.get(kBufferSlot) != nullptr, buffer, size)) return code;
  session->slots.set(kBufferSlot, std::make_shared<BufferPool>(buffer, size, process.counters));
  return kSuccess;
}

Code session_detach_buffer(Process& process, Session* session, void** buffer_addr, Count* size) {
  if (Code code = detach(process, session->slots.get(kBufferSlot), buffer_addr, size)) return code;
  session->slots.clear(kBufferSlot);
  return kSuccess;
}

Code session_flush_buffer(Process& process, Session* session) {
  return flush(process, session->slots.get(kBufferSlot));
}

Code session_iflush_buffer(Process& process, Session* session, Request** request) {
  return start_flush(*process.objects->self, session->slots.get(kBufferSlot), request);
}

Code comm_attach_buffer(Process& process, Comm* comm, void* buffer, Count size) {
  if (Code code = attach(process, comm->slots.get(kBufferSlot) != nullptr, buffer, size)) return code;
  comm->slots.set(kBufferSlot, std::make_shared<BufferPool>(buffer, size, process.counters));
  return kSuccess;
}

Code comm_detach_buffer(Process& process, Comm* comm, void** buffer_addr, Count* size) {
  if (Code code = detach(process, comm->slots.get(kBufferSlot), buffer_addr, size)) return code;
  comm->slots.clear(kBufferSlot);
  return kSuccess;
}

Code comm_flush_buffer(Process& process, Comm* comm) {
  return flush(process, comm->slots.get(kBufferSlot));
}

Code comm_iflush_buffer(Process&, Comm* comm, Request** request) {
  return start_flush(*comm, comm->slots.get(kBufferSlot), request);
}

}  // namespace api
}  // namespace tasuki

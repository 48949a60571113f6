// Buffered mode: the pool's accounting, bsend, and attach, detach and flush.
#include "p2p/buffer_pool.hpp"

#include <algorithm>
#include <iterator>

#include "base/user_memory.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/point_to_point.hpp"

namespace tasuki {

// ----- the pool --------------------------------------------------------------------------------------------

BufferPool::BufferPool(void* buffer, Count size, Counters& counters)
    : counters_(counters), start_(static_cast<std::byte*>(buffer)), size_(size) {
  counters_.buffer_bytes += static_cast<std::uint64_t>(this->size());
}

BufferPool::~BufferPool() {
  for (const BufferEntry& entry : entries_) count(-entry.bytes);
  counters_.buffer_bytes -= static_cast<std::uint64_t>(size());
}

void BufferPool::count(Count bytes) {
  bytes_used_ += bytes;
  if (automatic()) return;
  if (bytes > 0) {
    counters_.buffered_bytes.add(static_cast<std::uint64_t>(bytes));
  } else {
    counters_.buffered_bytes.subtract(static_cast<std::uint64_t>(-bytes));
  }
}

Count BufferPool::bytes_taken_by(Count message_bytes) {
  // Rounding up to 16 adds 15 at most, so this stays below message_bytes + kBsendOverhead.
  return (message_bytes + 15) / 16 * 16 + kBsendOverhead - 16;
}

BufferEntry* BufferPool::put(Place before, Count offset, Count bytes) {
  const Place place = entries_.insert(before, BufferEntry{});
  place->offset = offset;
  place->bytes = bytes;
  place->serial = serial_next_++;
  place->place = place;
  count(bytes);
  newest_ = place;
  return &*place;
}

BufferEntry* BufferPool::take(Count message_bytes) {
  if (message_bytes > kBufferedBytesMax) return nullptr;
  const Count bytes = bytes_taken_by(message_bytes);
  if (automatic()) {
    std::unique_ptr<std::byte[]> own = allocate_for_user(message_bytes);
    if (own == nullptr) return nullptr;
    BufferEntry* entry = put(entries_.end(), 0, bytes);
    entry->own = std::move(own);
    entry->data = entry->own.get();
    return entry;
  }
  if (bytes > size_ - bytes_used_) return nullptr;
  BufferEntry* entry = nullptr;
  if (newest_ != entries_.end()) {
    const Count from = newest_->offset + newest_->bytes;
    if (gap_end(std::next(newest_)) - from >= bytes) entry = put(std::next(newest_), from, bytes);
  }
  Count from = 0;
  for (Place next = entries_.begin(); entry == nullptr; ++next) {
    if (gap_end(next) - from >= bytes) entry = put(next, from, bytes);
    if (next == entries_.end()) break;
    from = next->offset + next->bytes;
  }
  if (entry != nullptr) entry->data = start_ + entry->offset;
  return entry;
}

void BufferPool::give_back(BufferEntry* entry) {
  const Place place = entry->place;
  const std::uint64_t serial = entry->serial;
  count(-entry->bytes);
  if (newest_ == place) newest_ = place == entries_.begin() ? entries_.end() : std::prev(place);
  entries_.erase(place);
  std::erase_if(flushes_, [serial](FlushRequest* flush) {
    if (serial >= flush->serial_end || --flush->entries_left != 0) return false;
    flush->complete();
    release(flush);
    return true;
  });
}

void BufferPool::notify(FlushRequest* request) {
  request->serial_end = serial_next_;
  request->entries_left = entries_.size();
  if (entries_.empty()) return request->complete();
  flushes_.push_back(retain(request));
}

// ----- sending ---------------------------------------------------------------------------------------------

namespace {

/// The communicator's own buffer, else its session's, else the process's (MPI 3.6).
BufferPool* pool_for(const Comm& comm) {
  if (comm.buffer != nullptr) return comm.buffer;
  if (comm.session) return static_cast<const Session&>(*comm.session).buffer;
  return comm.process.p2p->buffer.get();
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
  BufferEntry* entry = pool->take(bytes);
  if (entry == nullptr) {
    process.progress->look();  // earlier messages may have left by now
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
  if (send_at_once(buffer, count, datatype, dest, tag, comm, Plane::kPointToPoint)) {
    pool->give_back(entry);
    return kSuccess;
  }
  PackCursor(datatype, count).pack(buffer, entry->data, static_cast<std::size_t>(bytes));
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
  process.progress->wait_until([pool] { return pool->empty(); });
  *address = pool->start();
  *size = pool->size();
  return kSuccess;
}

Code flush(Process& process, BufferPool* pool) {
  if (pool != nullptr) process.progress->wait_until([pool] { return pool->empty(); });
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
  SendRequest* send = process.p2p->make_send(buf, count, *datatype, dest, tag, *comm, Plane::kPointToPoint,
                                             SendMode::kBuffered);
  send->complete();  // the message is on its way or in the buffer: nothing is left for this request
  *request = send;
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
  if (Code code = attach(process, session->buffer != nullptr, buffer, size)) return code;
  session->buffer = new BufferPool(buffer, size, process.counters);
  return kSuccess;
}

Code session_detach_buffer(Process& process, Session* session, void** buffer_addr, Count* size) {
  if (Code code = detach(process, session->buffer, buffer_addr, size)) return code;
  delete std::exchange(session->buffer, nullptr);
  return kSuccess;
}

Code session_flush_buffer(Process& process, Session* session) {
  return flush(process, session->buffer);
}

Code session_iflush_buffer(Process& process, Session* session, Request** request) {
  return start_flush(*process.objects->self, session->buffer, request);
}

Code comm_attach_buffer(Process& process, Comm* comm, void* buffer, Count size) {
  if (Code code = attach(process, comm->buffer != nullptr, buffer, size)) return code;
  comm->buffer = new BufferPool(buffer, size, process.counters);
  return kSuccess;
}

Code comm_detach_buffer(Process& process, Comm* comm, void** buffer_addr, Count* size) {
  if (Code code = detach(process, comm->buffer, buffer_addr, size)) return code;
  delete std::exchange(comm->buffer, nullptr);
  return kSuccess;
}

Code comm_flush_buffer(Process& process, Comm* comm) {
  return flush(process, comm->buffer);
}

Code comm_iflush_buffer(Process&, Comm* comm, Request** request) {
  return start_flush(*comm, comm->buffer, request);
}

}  // namespace api
}  // namespace tasuki

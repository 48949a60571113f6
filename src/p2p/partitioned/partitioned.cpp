// Partitioned communication: the life of a cycle at either end and its packets (MPI 4.2).
#include "p2p/partitioned/partitioned.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/user_memory.hpp"
#include "datatype/predefined.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/large/large.hpp"
#include "p2p/point_to_point.hpp"
#include "progress/progress.hpp"
#include "protocol/write.hpp"

namespace tasuki {

namespace {

Code refuse_active(Process& process, const Request& request) {
  if (!request.active) return kSuccess;
  return process.fail(kErrRequest, "the partitioned request is active, expected it to be completed first");
}

/// So much is written in one turn, so that what else there is to do gets its turn; and where the process lock
/// is held meanwhile.
constexpr Count kTurnBytes = Count{1} << 20;
constexpr Count kTurnWithLockBytes = 64 << 10;

/// Of `partitions` that fill the same range as `others`: the first of these that `index` overlaps, and the
/// one behind the last.
int first_overlap(int index, int partitions, int others) {
  return static_cast<int>(Count{index} * others / partitions);
}
int overlap_end(int index, int partitions, int others) {
  return static_cast<int>(((Count{index} + 1) * others + partitions - 1) / partitions);
}

bool has_posted(const MatchQueue& queue) {
  for (std::size_t source = 0; source < queue.lanes.size(); ++source) {
    if (queue.lanes[source].posted.first != nullptr) return true;
  }
  return false;
}

}  // namespace

// ----- the sender ------------------------------------------------------------------------------------------

Code PartitionedSend::start() {
  if (const Code code = refuse_active(comm->process, *this)) return code;
  active = true;
  done = false;
  status = kEmptyStatus;
  std::fill(ready.begin(), ready.end(), false);
  ready_count = 0;
  pending.clear();
  if (peer == kProcNull) {
    complete();
    return kSuccess;
  }
  if (MessageChecks* const checks = comm->process.p2p->checks.get()) checks->began(*this);
  retain(this);
  cleared = std::exchange(cleared_next, false);
  if (has_none) {
    mark_ready(0, partitions);
    send_pending();
  }
  return kSuccess;
}

void PartitionedSend::mark_ready(int first, int end) {
  std::fill(ready.begin() + first, ready.begin() + end, true);
  ready_count += end - first;
  if (done) return;  // to MPI_PROC_NULL
  if (ready_count == partitions) ++comm->process.p2p->sends_open;
  if (!pending.empty() && pending.back().end == first) {
    pending.back().end = end;
  } else {
    pending.push_back({first, end});
  }
}

void PartitionedSend::send_pending() {
  if (!cleared || pending.empty()) return;
  PointToPoint& p2p = *comm->process.p2p;
  if (!std::exchange(queued, true)) {
    p2p.waiting_for(endpoint).partitioned.push_back(this);
    p2p.mark_busy(endpoint);
  }
  p2p.flush(endpoint);
}

bool PartitionedSend::push() {
  Link& link = *comm->process.p2p->link;
  const Run& run = pending.front();
  if (bytes_wanted == 0) {
    if (!write_partition_names(link, endpoint, receiver, run.first, run.end, partitions)) return false;
    pending.pop_front();
    return true;
  }
  const Count end = std::min(run.end * partition_bytes, bytes_wanted);
  if (!std::exchange(run_open, true)) cursor.seek(std::min(run.first * partition_bytes, end));
  if (cursor.position() < end && !push_bytes(end)) return false;
  if (cursor.position() == end) {
    run_open = false;
    pending.pop_front();
  }
  return true;
}

bool PartitionedSend::push_bytes(Count end) {
  Link& link = *comm->process.p2p->link;
  const Count begin = cursor.position();
  if (!there.exists()) return write_partition(link, endpoint, receiver, buffer, cursor, end);
  const bool locking = comm->process.progress->is_locking();
  const Count to = std::min(end, begin + (locking ? kTurnWithLockBytes : kTurnBytes));
  const auto copy = [&] {
    map_pages(there, begin, to);
    if (here.exists()) return copy_strided(here, there, begin, to);
    auto* const target = reinterpret_cast<std::byte*>(there.address + static_cast<std::uint64_t>(begin));
    cursor.pack(buffer, target, static_cast<std::size_t>(to - begin));
  };
  if (!write_partition_written(link, endpoint, receiver, begin, to, copy)) return false;
  cursor.seek(to);
  return true;
}

void PartitionedSend::all_pushed() {
  queued = false;
  if (ready_count != partitions) return;
  --comm->process.p2p->sends_open;
  complete();
  release(this);
}

// ----- the receiver ----------------------------------------------------------------------------------------

OfferPlace::OfferPlace(PartitionedReceive& its_receive) : receive(&its_receive) {
  source = its_receive.peer;
  tag = its_receive.tag;
}

PartitionedReceive::~PartitionedReceive() {
  if (place != nullptr) place->receive = nullptr;
}

Code PartitionedReceive::start() {
  if (const Code code = refuse_active(comm->process, *this)) return code;
  active = true;
  done = false;
  status = kEmptyStatus;
  if (peer == kProcNull) {
    status.source = kProcNull;
    complete();
    return kSuccess;
  }
  retain(this);
  bytes_arrived = 0;
  notices_left = -1;
  std::fill(lacking.begin(), lacking.end(), std::max<Count>(partition_bytes, 1));
  if (matched) clear_sender();
  return kSuccess;
}

void PartitionedReceive::match(int from_endpoint, const OfferHeader& offer) {
  if (from_endpoint != endpoint) comm->process.p2p->damaged_source(from_endpoint);
  matched = true;
  sender = offer.sender;
  sender_bytes = static_cast<Count>(offer.bytes);
  if (MessageChecks* const checks = comm->process.p2p->checks.get())
    mismatch = checks->compare_offer(*this, offer);
  if (active && !done) clear_sender();
}

void PartitionedReceive::clear_sender() {
  const Count capacity = cursor.total_bytes();
  bytes_wanted = std::min(sender_bytes, capacity);
  status.source = peer;
  status.tag = tag;
  status.bytes = bytes_wanted;
  status.error = mismatch;
  if (sender_bytes != capacity) {
    status.error = comm->process.fail(
        sender_bytes > capacity ? kErrTruncate : kErrCount,
        "partitioned message of %lld bytes from rank %d, tag %d, expected the %lld of the receive buffer",
        static_cast<long long>(sender_bytes), peer, tag, static_cast<long long>(capacity));
  }
  PointToPoint& p2p = *comm->process.p2p;
  const StridedBuffer shared =
      p2p.large->as_shared(endpoint, strided_buffer(buffer, cursor.count(), *datatype), bytes_wanted);
  p2p.answer(endpoint, AnswerHeader{.lead = lead_word(PacketKind::kPartitionedStart),
                                    .block_bytes = shared.block_bytes,
                                    .sender = sender,
                                    .receiver = p2p.partitioned->receives.id(this),
                                    .bytes_wanted = static_cast<std::uint64_t>(bytes_wanted),
                                    .address = shared.address,
                                    .stride = shared.stride});
  is_shared = shared.exists();
}

void PartitionedReceive::take_bytes(Count position, const std::byte* data, Count bytes) {
  if (data != nullptr) {
    cursor.seek(position);
    cursor.unpack(buffer, data, static_cast<std::size_t>(bytes));
  }
  bytes_arrived += bytes;
  for (Count left = bytes; left > 0;) {
    const Count index = position / partition_bytes;
    const Count here = std::min(left, (index + 1) * partition_bytes - position);
    lacking[static_cast<std::size_t>(index)] -= here;
    position += here;
    left -= here;
  }
  if (bytes_arrived == bytes_wanted) finish();
}

void PartitionedReceive::take_names(int first, int end, int of) {
  if (notices_left < 0) {
    notices_left = of;
    for (int own = 0; own < partitions; ++own) {
      lacking[static_cast<std::size_t>(own)] =
          overlap_end(own, partitions, of) - first_overlap(own, partitions, of);
    }
  }
  notices_left -= end - first;
  for (int other = first; partitions > 0 && other < end; ++other) {
    for (int own = first_overlap(other, of, partitions); own < overlap_end(other, of, partitions); ++own) {
      --lacking[static_cast<std::size_t>(own)];
    }
  }
  if (notices_left == 0) finish();
}

void PartitionedReceive::finish() {
  complete();
  release(this);
}

// ----- packets ---------------------------------------------------------------------------------------------

void PartitionedSend::operator delete(PartitionedSend* request, std::destroying_delete_t) {
  request->comm->process.p2p->partitioned->sends.destroy(request);
}

void PartitionedReceive::operator delete(PartitionedReceive* request, std::destroying_delete_t) {
  request->comm->process.p2p->partitioned->receives.destroy(request);
}

void Partitioned::offer(const Packet& packet) {
  const OfferHeader header = header_of<OfferHeader>(packet);
  const int source = lead_source(header.lead);
  const auto bytes = static_cast<Count>(header.bytes);
  if (bytes < 0 || (header.basic != 0 && (header.basic > UINT16_MAX ||
                                          basic_info(static_cast<std::uint16_t>(header.basic)) == nullptr)))
    p2p.damaged(packet, "the offer of a partitioned message of a wrong size");
  if (PostedReceive* const posted = matching.match_arrival(header.context, source, header.tag)) {
    auto* const place = static_cast<OfferPlace*>(posted);
    PartitionedReceive* const receive = place->receive;
    places.destroy(place);
    if (receive == nullptr) return drop_offer(header.context);
    receive->place = nullptr;
    return receive->match(packet.source, header);
  }
  p2p.check_source(packet, source);
  Message* message = p2p.messages.make();
  message->pool = &p2p;
  message->is_long = true;
  message->source = source;
  message->tag = header.tag;
  message->bytes = bytes;
  message->endpoint = packet.source;
  std::memcpy(message->small, &header, sizeof header);
  matching.add(header.context, message);
}

void Partitioned::started(const Packet& packet) {
  const AnswerHeader header = header_of<AnswerHeader>(packet);
  PartitionedSend* send = sends.find(header.sender);
  if (send == nullptr) return;  // freed: the receiver waits for a cycle that never comes
  const auto wanted = static_cast<Count>(header.bytes_wanted);
  if (send->endpoint != packet.source || send->cleared_next || wanted < 0 ||
      wanted > send->cursor.total_bytes() ||
      (send->receiver != 0 && (send->receiver != header.receiver || send->bytes_wanted != wanted))) {
    p2p.damaged(packet, "a start that does not fit its partitioned message");
  }
  send->receiver = header.receiver;
  send->bytes_wanted = wanted;
  const StridedBuffer there{header.address, header.stride, header.block_bytes};
  const bool may_write =
      (send->here.exists() || there.dense()) && p2p.large->reach(packet.source, there, wanted);
  send->there = may_write ? there : StridedBuffer{};
  const bool waits = send->active && !send->done && !send->cleared;
  (waits ? send->cleared : send->cleared_next) = true;
  if (waits) send->send_pending();
}

void Partitioned::partition(const Packet& packet) {
  const PartitionHeader header = header_of<PartitionHeader>(packet);
  PartitionedReceive* receive = receives.find(header.receiver);
  if (receive == nullptr || !receive->active || receive->done || !receive->matched ||
      receive->endpoint != packet.source) {
    p2p.damaged(packet, "a partition for no receive that waits for one");
  }
  if (header.partitions == 0) {
    const auto left = static_cast<std::uint64_t>(receive->bytes_wanted - receive->bytes_arrived);
    const auto wanted = static_cast<std::uint64_t>(receive->bytes_wanted);
    const bool is_written = header.end != 0;
    const std::uint64_t bytes = is_written ? header.end - header.position : packet.bulk_bytes;
    if (bytes == 0 || bytes > left || header.position > wanted - bytes ||
        (is_written && !receive->is_shared)) {
      p2p.damaged(packet, "bytes that do not fit their partitioned message");
    }
    return receive->take_bytes(static_cast<Count>(header.position), is_written ? nullptr : packet.bulk,
                               static_cast<Count>(bytes));
  }
  const auto of = static_cast<int>(header.partitions);
  const std::uint64_t expected =
      receive->notices_left < 0 ? header.partitions : static_cast<std::uint64_t>(receive->notices_left);
  if (receive->bytes_wanted != 0 || of < 0 || header.position >= header.end ||
      header.end > header.partitions || header.end - header.position > expected) {
    p2p.damaged(packet, "partitions that their message does not have");
  }
  receive->take_names(static_cast<int>(header.position), static_cast<int>(header.end), of);
}

void Partitioned::forget(Context context) {
  MatchQueue* queue = matching.find(context);
  if (queue == nullptr) return;
  while (queue->arrived.first != nullptr) {
    auto* message = static_cast<Message*>(queue->arrived.first);
    matching.remove(message);
    release(message);
  }
  if (has_posted(*queue)) {
    ended.insert(context);
  } else {
    matching.forget(context);
  }
}

void Partitioned::drop_offer(Context context) {
  if (!ended.contains(context) || has_posted(*matching.find(context))) return;
  ended.erase(context);
  matching.forget(context);
}

}  // namespace tasuki

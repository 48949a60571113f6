// Sending: from the user's call to the packets.
//
// A blocking send of up to one packet, with nothing queued before it, is written into the link's room
// and forgotten: no request, no lock, no allocation. Everything else is a SendRequest that push_message()
// drives through its protocol, at once or whenever there is room.
#include <algorithm>

#include "base/predefined.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/large/large.hpp"
#include "p2p/point_to_point.hpp"
#include "protocol/choose.hpp"
#include "protocol/write.hpp"

namespace tasuki {

// ----- the short path --------------------------------------------------------------------------------------

namespace {

/// What goes at once and is not both short and dense. False: nothing has happened.
bool write_packed(const void* buffer, Count count, const Datatype& datatype, int endpoint, int dest, int tag,
                  Comm& comm, Plane plane, Protocol protocol, bool is_turn) {
  PointToPoint& p2p = *comm.process.p2p;
  PackCursor cursor(datatype, count);
  const Envelope envelope{comm.rank, tag, comm.context | static_cast<Context>(plane)};
  if (p2p.checks != nullptr && plane == Plane::kPointToPoint) return false;
  const Count bytes = cursor.total_bytes();
  if (!is_turn && bytes >= p2p.table.sender_write_bytes_min && p2p.large->may_claim(endpoint, bytes))
    return false;
  switch (protocol) {
    case Protocol::kShort:
      if (!write_short(*p2p.link, endpoint, envelope, buffer, cursor)) return false;
      break;
    case Protocol::kEager:
      if (bytes > p2p.bulk_bytes_max || bytes > piece_bytes(bytes)) return false;
      if (!write_eager(*p2p.link, endpoint, envelope, 0, buffer, cursor)) return false;
      break;
    case Protocol::kLong:
    case Protocol::kSenderWrite:
      return false;
  }
  p2p.count_sent_at_once(endpoint, envelope, bytes);
  p2p.count_sent(protocol == Protocol::kShort ? Way::kShort : Way::kEager, bytes, endpoint, kSentAtOnce);
  if (protocol != Protocol::kShort && comm.process.events.is_wanted(Event::kSendChosen)) {
    p2p.tell_choice(protocol, dest, tag, bytes);
  }
  return true;
}

/// send_at_once() for that. Apart, so that the short path needs no stack for it.
[[gnu::noinline]] bool send_packed_at_once(const void* buffer, Count count, const Datatype& datatype,
                                           int endpoint, int dest, int tag, Comm& comm, Plane plane,
                                           Protocol protocol, bool is_turn) {
  if (write_packed(buffer, count, datatype, endpoint, dest, tag, comm, plane, protocol, is_turn)) return true;
  if (is_turn && protocol != Protocol::kShort) comm.process.p2p->keep_turn(endpoint);
  return false;
}

/// The short path itself; inlined into its callers.
[[gnu::always_inline]] inline bool try_at_once(const void* buffer, Count count, const Datatype& datatype,
                                               int dest, int tag, Comm& comm, Plane plane) {
  PointToPoint& p2p = *comm.process.p2p;
  Count bytes;
  if (__builtin_mul_overflow(count, datatype.size, &bytes)) [[unlikely]]
    return false;
  const int endpoint = comm.endpoint(dest);
  if (!p2p.peer(endpoint).messages.empty() || !p2p.has_credit(endpoint, bytes)) [[unlikely]]
    return false;
  const bool is_turn = p2p.is_turn(endpoint, bytes);
  const Protocol protocol = choose(bytes, false, is_turn, p2p.table);
  if (protocol == Protocol::kShort && datatype.contiguous) [[likely]] {
    const Envelope envelope{comm.rank, tag, comm.context | static_cast<Context>(plane)};
    if (!write_short(*p2p.link, endpoint, envelope, buffer, static_cast<std::size_t>(bytes))) return false;
    p2p.count_sent_at_once(endpoint, envelope, bytes);
    comm.process.counters.count_sent(Way::kShort, static_cast<std::uint64_t>(bytes));
    return true;
  }
  return send_packed_at_once(buffer, count, datatype, endpoint, dest, tag, comm, plane, protocol, is_turn);
}

}  // namespace

bool send_at_once(const void* buffer, Count count, const Datatype& datatype, int dest, int tag, Comm& comm,
                  Plane plane) {
  return try_at_once(buffer, count, datatype, dest, tag, comm, plane);
}

Code check_size(Process& process, Count count, const Datatype& datatype) {
  Count bytes;
  if (!__builtin_mul_overflow(count, datatype.size, &bytes)) return kSuccess;
  return process.fail(kErrCount, "count = %lld elements of %lld bytes, expected less than 2^63 bytes in all",
                      static_cast<long long>(count), static_cast<long long>(datatype.size));
}

Datatype& byte_type(Process& process) {
  return *static_cast<Datatype*>(process.objects->predefined[kMpiByte]);
}

namespace {

/// A blocking send by a request: what the short path cannot do.
[[gnu::noinline]] Code send_by_request(const void* buffer, Count count, Datatype& datatype, int dest, int tag,
                                       Comm& comm, Plane plane, SendMode mode) {
  if (Code code = check_size(comm.process, count, datatype)) return code;
  PointToPoint& p2p = *comm.process.p2p;
  if (p2p.checks != nullptr && plane == Plane::kPointToPoint) [[unlikely]] {
    if (Code code = p2p.checks->before_send(buffer, count, datatype)) return code;
  }
  SendRequest* request = p2p.make_send(buffer, count, datatype, dest, tag, comm, plane, mode);
  request->may_be_set_aside = mode == SendMode::kStandard && plane == Plane::kPointToPoint;
  if (request->may_be_set_aside && p2p.large->has_all_set_aside(comm.endpoint(dest)))
    comm.process.progress->poll();  // some may have been received
  p2p.begin(*request);
  return wait_for_send_buffer(request);
}

Code start_user_send(const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm,
                     SendMode mode, Request** request) {
  if (Code code = check_size(comm->process, count, *datatype)) return code;
  PointToPoint& p2p = *comm->process.p2p;
  if (p2p.checks != nullptr && dest != kProcNull) [[unlikely]] {
    if (Code code = p2p.checks->before_send(buf, count, *datatype)) return code;
  }
  SendRequest* send = p2p.make_send(buf, count, *datatype, dest, tag, *comm, Plane::kPointToPoint, mode);
  send->returns_soon = true;
  if (p2p.checks != nullptr) [[unlikely]]
    p2p.checks->began(*send);
  p2p.begin(*send);
  *request = send;
  return kSuccess;
}

/// A nonblocking send in the standard or ready mode: one that is over at once needs no request of its own.
Code start_standard_send(const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm,
                         SendMode mode, Request** request) {
  if (dest == kProcNull || try_at_once(buf, count, *datatype, dest, tag, *comm, Plane::kPointToPoint))
      [[likely]] {
    *request = retain(&comm->process.p2p->sent);
    return kSuccess;
  }
  return start_user_send(buf, count, datatype, dest, tag, comm, mode, request);
}

[[gnu::always_inline]] inline Code send_standard(const void* buffer, Count count, Datatype& datatype,
                                                 int dest, int tag, Comm& comm, Plane plane) {
  if (dest == kProcNull) return kSuccess;
  if (try_at_once(buffer, count, datatype, dest, tag, comm, plane)) [[likely]]
    return kSuccess;
  return send_by_request(buffer, count, datatype, dest, tag, comm, plane, SendMode::kStandard);
}

}  // namespace

Code send_message(const void* buffer, Count count, Datatype& datatype, int dest, int tag, Comm& comm,
                  Plane plane) {
  return send_standard(buffer, count, datatype, dest, tag, comm, plane);
}

Request* start_send(const void* buffer, Count count, Datatype& datatype, int dest, int tag, Comm& comm,
                    Plane plane) {
  PointToPoint& p2p = *comm.process.p2p;
  SendRequest* request = p2p.make_send(buffer, count, datatype, dest, tag, comm, plane, SendMode::kStandard);
  p2p.begin(*request);
  return request;
}

Request* start_synchronous_send(const void* buffer, Count count, Datatype& datatype, int dest, int tag,
                                Comm& comm, Plane plane) {
  PointToPoint& p2p = *comm.process.p2p;
  SendRequest* request =
      p2p.make_send(buffer, count, datatype, dest, tag, comm, plane, SendMode::kSynchronous);
  p2p.begin(*request);
  return request;
}

// ----- the engine ------------------------------------------------------------------------------------------

bool PointToPoint::has_answered(int endpoint, Count bytes) {
  Peer& of = peer(endpoint);
  of.answered_before = of.answered;
  if (of.answered == of.arrived) return false;
  of.answered = std::max(of.answered + 1, of.arrived - 1);  // where both send, the peer's next may be here
  if (large->is_streamed_in_turn(endpoint, bytes)) return false;
  if (bytes <= table.eager_bytes_max) return true;
  if (bytes > table.turn_bytes_max || !large->is_local(endpoint)) return false;
  const Count piece = std::min(piece_bytes(bytes), bulk_bytes_max);
  return link->takes_ahead(endpoint, static_cast<std::uint32_t>((bytes + piece - 1) / piece));
}

/// As has_credit(), after a look at what has come. Ranks that make a communicator may: they send each other a
/// few bytes, and all of them may send first.
bool PointToPoint::may_send_at_once(const SendRequest& request) {
  constexpr Context kPlanes = 3;
  const Count bytes = request.cursor.total_bytes();
  if (has_credit(request.endpoint, bytes)) return true;
  if ((request.envelope.context & kPlanes) == static_cast<Context>(Plane::kCreation)) return true;
  link->poll(*this);
  return has_credit(request.endpoint, bytes);
}

void PointToPoint::credit(const Packet& packet) {
  Peer& to = peer(packet.source);
  const std::uint64_t freed = header_of<AnswerHeader>(packet).bytes_wanted;
  if (freed <= to.freed_cost || freed > to.sent_cost)
    damaged(packet, "an answer to no message, which tells that more was taken than has been sent");
  to.freed_cost = freed;
}

void PointToPoint::begin(SendRequest& request) {
  retain(&request);
  ++sends_open;
  if (request.dest == kProcNull) return complete(request);
  if (request.note != nullptr) request.note->sealed = false;
  request.endpoint = request.comm->endpoint(request.dest);
  const Count bytes = request.cursor.total_bytes();
  const bool is_its_turn = is_turn(request.endpoint, bytes);
  request.protocol = choose(bytes, request.mode == SendMode::kSynchronous, is_its_turn, table);
  // A blocking call may not wait longer than with cells.
  if (request.protocol == Protocol::kEager && !is_its_turn &&
      table.eager_bytes_max == kEagerBytesMaxDefault && large->is_streamed_in_turn(request.endpoint, bytes) &&
      (!request.may_be_set_aside || large->can_set_aside(request.endpoint)))
    request.protocol = Protocol::kLong;
  // A round trip between hosts takes longer than a copy of what one packet carries.
  if (request.protocol == Protocol::kLong && bytes <= link->piece_bytes(request.endpoint) &&
      table.eager_bytes_max >= kEagerBytesMaxDefault)
    request.protocol = Protocol::kEager;
  if (request.goes_at_once() && !may_send_at_once(request)) {
    ++process.counters.sends_held_back;
    request.protocol = Protocol::kLong;
  }
  const bool passes_cells = is_its_turn && request.protocol == Protocol::kEager;
  if (!passes_cells && bytes >= table.sender_write_bytes_min && peer(request.endpoint).messages.empty()) {
    const LargeMessages::Advertised advertised = large->claim(request);
    if (advertised == LargeMessages::Advertised::kClaimed) request.protocol = Protocol::kSenderWrite;
    if (advertised == LargeMessages::Advertised::kReceiverWaits) request.protocol = Protocol::kLong;
  }
  if (request.goes_at_once()) peer(request.endpoint).sent_cost += cost_of(bytes);
  push_or_queue(request);
}

bool PointToPoint::write_alone(SendRequest& request) {
  request.endpoint = request.comm->endpoint(request.dest);
  if (!peer(request.endpoint).messages.empty() || !large->write_alone(request)) return false;
  retain(&request);
  ++sends_open;
  request.protocol = Protocol::kSenderWrite;
  push_or_queue(request);
  return true;
}

void PointToPoint::push_or_queue(SendRequest& request) {
  Peer& to = peer(request.endpoint);
  if (process.events.is_wanted(Event::kSendChosen)) {
    tell_choice(request.protocol, request.dest, request.envelope.tag, request.cursor.total_bytes());
  }
  if (to.messages.empty() && push_message(request)) return settle(request);
  ++process.counters.sends_queued;
  to.messages.push(&request);
  mark_busy(request.endpoint);
}

namespace {

/// From how many bytes on a message to another host is sent from where it lies. Fewer are copied sooner than
/// the link says that they have left.
constexpr Count kLentBytesMin = 16 * kKibi;

Source source_of(const Link& link, const SendRequest& request) {
  const bool waits_for_it = request.protocol == Protocol::kLong ||
                            (request.protocol == Protocol::kEager && request.mode != SendMode::kSynchronous);
  const bool is_lent = waits_for_it && request.cursor.total_bytes() > kLentBytesMin &&
                       link.piece_bytes(request.endpoint) != 0 && request.datatype->contiguous;
  return is_lent ? Source::kLent : Source::kCopied;
}

}  // namespace

bool PointToPoint::push_message(SendRequest& request) {
  const int to = request.endpoint;
  PackCursor& cursor = request.cursor;
  if (!request.opened) {
    if (request.note != nullptr && !checks->push_seal(request)) return false;
    const Count bytes = cursor.total_bytes();
    const bool is_sampled = bytes >= LinePace::kBytesMin && large->write_sample(to, bytes);
    switch (request.protocol) {
      case Protocol::kShort:
        request.opened = write_short(*link, to, request.envelope, request.buffer, cursor);
        if (request.opened) break;
        if (!link->prefers_bulk(to, static_cast<std::uint32_t>(cursor.total_bytes()))) return false;
        request.protocol = Protocol::kEager;
        [[fallthrough]];
      case Protocol::kEager: {
        const RequestId id = request.mode == SendMode::kSynchronous ? sends.id(&request) : 0;
        request.opened =
            write_eager(*link, to, request.envelope, id, request.buffer, cursor, source_of(*link, request));
        break;
      }
      case Protocol::kLong:
      case Protocol::kSenderWrite:
        request.opened = large->open(request);
        break;
    }
    if (!request.opened) {
      if (is_sampled) large->take_sample_back(to);
      return false;
    }
    if (request.protocol != Protocol::kSenderWrite) count_sent_message(to, request.envelope);
    if (request.protocol != Protocol::kLong) {
      const bool written = request.protocol == Protocol::kSenderWrite;
      const Way way = written                                ? Way::kSenderWrite
                      : request.protocol == Protocol::kShort ? Way::kShort
                                                             : Way::kEager;
      const char* const why = !written && cursor.total_bytes() > table.eager_bytes_max ? kSentInTurn
                              : !written                                               ? kSentAtOnce
                              : request.large->by_network                              ? kAdvertisedFar
                                                                                       : kAdvertised;
      count_sent(way, cursor.total_bytes(), to, why);
    }
  }
  if (request.protocol == Protocol::kEager) {
    while (cursor.position() < cursor.total_bytes()) {
      if (!write_eager_more(*link, to, request.buffer, cursor, source_of(*link, request))) return false;
    }
  }
  request.pushed = true;
  return true;
}

void PointToPoint::note_sent(int endpoint, const Envelope& envelope) {
  large->note_sent(endpoint, envelope);
}

void PointToPoint::count_sent(Way way, Count bytes, int endpoint, const char* why) {
  process.counters.count_sent(way, static_cast<std::uint64_t>(bytes));
  if (explainer != nullptr) [[unlikely]]
    explainer->sent(way, bytes, endpoint, why);
}

void PointToPoint::tell_choice(Protocol protocol, int dest, int tag, Count bytes) {
  process.events.raise(Event::kSendChosen, {dest, tag, bytes, static_cast<std::int64_t>(protocol)});
}

void PointToPoint::settle(SendRequest& request) {
  if (request.protocol == Protocol::kSenderWrite) return large->sender_write(request);
  if (request.waits_for_answer() && !request.answered) {
    if (request.cancelling) withdraw(request);
    return;
  }
  if (source_of(*link, request) == Source::kCopied || link->has_left(request.endpoint))
    return complete(request);
  request.bytes_wanted = request.cursor.position();  // a stream that has no more to send, and has to leave
  peer(request.endpoint).streams.push(&request);
  mark_busy(request.endpoint);
}

bool PointToPoint::push_stream(SendRequest& request) {
  return write_fragment(*link, request.endpoint, request.receiver, request.buffer, request.cursor,
                        request.bytes_wanted, source_of(*link, request));
}

void PointToPoint::complete(SendRequest& request) {
  request.complete();
  --sends_open;
  if (request.entry != nullptr) request.pool->give_back(request.entry);
  if (request.large != nullptr) large->forget(request);
  if (request.pair != nullptr) request.pair->part_done();
  release(&request);
}

// ----- answers ---------------------------------------------------------------------------------------------

SendRequest& PointToPoint::answered(const Packet& packet) {
  SendRequest* request = sends.find(header_of<AnswerHeader>(packet).sender);
  if (request == nullptr || request->endpoint != packet.source || !request->opened || request->answered ||
      request->done) {
    damaged(packet, "an answer to no message that waits for one");
  }
  request->answered = true;
  return *request;
}

void PointToPoint::acknowledged(const Packet& packet) {
  if (header_of<AnswerHeader>(packet).sender == 0) return credit(packet);
  SendRequest& request = answered(packet);
  if (request.protocol != Protocol::kEager || request.mode != SendMode::kSynchronous) {
    damaged(packet, "an acknowledgement of a message that wants none");
  }
  if (request.pushed) complete(request);
}

void PointToPoint::cleared_to_send(const Packet& packet) {
  SendRequest& request = answered(packet);
  const AnswerHeader header = header_of<AnswerHeader>(packet);
  const auto wanted = static_cast<Count>(header.bytes_wanted);
  if (request.protocol != Protocol::kLong || wanted < 0 || wanted > request.cursor.total_bytes()) {
    damaged(packet, "a clear-to-send that does not fit its message");
  }
  if (header.address != 0 && large->put(request, header)) return;
  count_sent(Way::kTwoCopy, request.cursor.total_bytes(), request.endpoint, kReceiverChose);
  request.receiver = header.receiver;
  request.bytes_wanted = wanted;
  if (wanted == 0) return complete(request);
  peer(packet.source).streams.push(&request);
  mark_busy(packet.source);
  flush(packet.source);
}

void PointToPoint::get_begins(const Packet& packet) {
  SendRequest& request = answered(packet);
  if (request.protocol != Protocol::kLong) damaged(packet, "an offer to share that fits no message");
  large->get_begins(request, packet);
}

void PointToPoint::get_done(const Packet& packet) {
  SendRequest& request = answered(packet);
  if (request.protocol != Protocol::kLong) damaged(packet, "the end of a copy that fits no message");
  const bool was_late = request.large != nullptr && request.large->aside != nullptr;
  count_sent(Way::kGet, request.cursor.total_bytes(), request.endpoint,
             was_late ? kReceiverLate : kReceiverChose);
  complete(request);
}

void PointToPoint::withdraw(SendRequest& request) {
  const EnvelopeHeader header{.lead = lead_word(PacketKind::kWithdraw, request.envelope.source),
                              .tag = request.envelope.tag,
                              .context = request.envelope.context,
                              .bytes = 0,
                              .sender = sends.id(&request)};
  answer(request.endpoint, as_answer(header));
}

void PointToPoint::withdrawn(const Packet& packet) {
  SendRequest& request = answered(packet);
  if (!request.cancelling) damaged(packet, "the end of a message that was not cancelled");
  request.status.cancelled = true;
  complete(request);
}

/// What has not left is over at once. What waits for its receive is over when the receiver has dropped the
/// message, or has matched it already; all else ends by itself (MPI 3.8.4: a wait for it returns in any
/// case).
Code SendRequest::cancel() {
  if (!active || done || cancelling || dest == kProcNull) return kSuccess;
  PointToPoint& p2p = *comm->process.p2p;
  const bool is_expected = opened || protocol == Protocol::kSenderWrite || (note != nullptr && note->sealed);
  if (!is_expected && p2p.peer(endpoint).messages.remove(this)) {
    if (goes_at_once()) p2p.peer(endpoint).sent_cost -= PointToPoint::cost_of(cursor.total_bytes());
    status.cancelled = true;
    p2p.complete(*this);
    return kSuccess;
  }
  cancelling = true;
  if (pushed && waits_for_answer() && !answered) p2p.withdraw(*this);
  return kSuccess;
}

// ----- the user's calls ------------------------------------------------------------------------------------

namespace api {

Code send(Process&, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm) {
  return send_standard(buf, count, *datatype, dest, tag, *comm, Plane::kPointToPoint);
}

Code rsend(Process&, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm) {
  if (dest == kProcNull) return kSuccess;
  if (try_at_once(buf, count, *datatype, dest, tag, *comm, Plane::kPointToPoint)) return kSuccess;
  return send_by_request(buf, count, *datatype, dest, tag, *comm, Plane::kPointToPoint, SendMode::kReady);
}

Code ssend(Process&, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm) {
  if (dest == kProcNull) return kSuccess;
  return send_by_request(buf, count, *datatype, dest, tag, *comm, Plane::kPointToPoint,
                         SendMode::kSynchronous);
}

Code isend(Process&, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm,
           Request** request) {
  return start_standard_send(buf, count, datatype, dest, tag, comm, SendMode::kStandard, request);
}

Code irsend(Process&, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm,
            Request** request) {
  return start_standard_send(buf, count, datatype, dest, tag, comm, SendMode::kReady, request);
}

Code issend(Process&, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm,
            Request** request) {
  return start_user_send(buf, count, datatype, dest, tag, comm, SendMode::kSynchronous, request);
}

}  // namespace api
}  // namespace tasuki

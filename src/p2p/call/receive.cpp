// Receiving: matching a receive with a message, and the bytes into the user's buffer.
//
// Either comes first. A receive that finds its message takes it over (accept); else it is posted, and the
// message's first packet finds it. A long message's data goes straight from the link's room to the
// user's buffer; an eager one that comes early is kept in a Message of its own.
#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "base/copy.hpp"
#include "job/launcher.hpp"
#include "p2p/call/api.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/large/large.hpp"
#include "p2p/point_to_point.hpp"
#include "protocol/packet.hpp"

namespace tasuki {

namespace {

/// A message that its sender has not written into the buffer has matched an advertised receive: ends the
/// advertisement, which no sender may have claimed.
[[gnu::cold]] void take_back(ReceiveRequest& receive, int endpoint) {
  Process& process = receive.comm->process;
  if (!process.p2p->large->withdraw(receive))
    process.launcher.end_damaged(endpoint, "the state of a receive that was offered to it");
}

/// The receive is matched: fills its status, and records a truncation.
inline void fill_status(ReceiveRequest& receive, int source, int tag, Count bytes, int endpoint) {
  if (receive.source == kAnySource) check_source(*receive.comm, source, endpoint);
  receive.endpoint = endpoint;
  receive.status.source = source;
  receive.status.tag = tag;
  receive.status.bytes = bytes;
  const Count capacity = receive.capacity();
  if (bytes <= capacity) [[likely]]
    return;
  receive.status.bytes = capacity;
  receive.status.error = receive.comm->process.fail(
      kErrTruncate,
      "message of %lld bytes from rank %d, tag %d, receive buffer holds %lld, expected no more than that; "
      "hint: "
      "count is in elements of datatype; MPI_Probe and MPI_Get_count tell how many there are",
      static_cast<long long>(bytes), source, tag, static_cast<long long>(capacity));
}

/// The next `bytes` of the message; those that the buffer has no room for are dropped.
inline void unpack(ReceiveRequest& receive, const std::byte* data, Count bytes) {
  const Count room = receive.capacity() - receive.cursor.position();
  const Count taken = std::min(bytes, room);
  if (taken > 0) receive.cursor.unpack(receive.buffer, data, static_cast<std::size_t>(taken));
}

inline void open_matched(ReceiveRequest& receive, int source, int tag, Count bytes, int endpoint) {
  if (receive.large != nullptr) [[unlikely]]
    take_back(receive, endpoint);
  fill_status(receive, source, tag, bytes, endpoint);
}

void allocate(Process& process, Message& message) {
  if (message.bytes <= static_cast<Count>(Message::kInlineBytes)) return;
  message.heap.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(message.bytes)]);
  if (message.heap != nullptr) return;
  process.launcher.abort(1, "no memory for a message of " + std::to_string(message.bytes) +
                                " bytes from rank " + std::to_string(message.endpoint) +
                                " that arrived before its receive");
}

Message& make_message(PointToPoint& p2p, const Packet& packet, int source, int tag, Count bytes) {
  p2p.check_source(packet, source);
  Message* message = p2p.messages.make();
  message->pool = &p2p;
  message->source = source;
  message->tag = tag;
  message->bytes = bytes;
  message->endpoint = packet.source;
  return *message;
}

void keep_seal(Message& message, std::unique_ptr<MessageSeal> seal) {
  if (seal == nullptr) return;
  seal->early = true;
  message.seal = std::move(seal);
}

void acknowledge(PointToPoint& p2p, int endpoint, RequestId sender) {
  p2p.answer(
      endpoint,
      AnswerHeader{
          .lead = lead_word(PacketKind::kAcknowledge), .sender = sender, .receiver = 0, .bytes_wanted = 0});
}

/// The longest message that any setting sends at once.
constexpr Count kEagerBytesMax = Count{1} << 30;

void set_proc_null_status(Status* status) {
  *status = Status{.source = kProcNull, .tag = kAnyTag};
}

}  // namespace

// ----- the receive comes
// ------------------------------------------------------------------------------------

void PointToPoint::begin(ReceiveRequest& request) {
  retain(&request);
  if (request.source == kProcNull) {
    set_proc_null_status(&request.status);
    return complete(request);
  }
  if (request.note != nullptr) checks->arm(request);
  ArrivedMessage* const arrived = matching.post(request.context, &request);
  if (arrived == nullptr) {
    if (request.capacity() >= table.sender_write_bytes_min) large->posted(request);
    return;
  }
  matching.remove(arrived);
  accept(request, static_cast<Message*>(arrived));
}

void PointToPoint::accept(ReceiveRequest& request, Message* message) {
  const Ref<Message> taken(message);
  open_matched(request, message->source, message->tag, message->bytes, message->endpoint);
  if (request.note != nullptr) checks->met(request, message->seal.get());
  if (message->is_long) {
    LongMessage about;
    std::memcpy(&about, message->small, sizeof about);
    return large->matched(request, about, message->bytes, true);
  }
  unpack(request, message->data(), message->arrived_bytes);
  if (message->synchronous) acknowledge(*this, message->endpoint, message->sender);
  if (message->arrived_bytes == message->bytes) return complete(request);
  Peer& from = peer(message->endpoint);
  from.eager_message = nullptr;
  from.eager_receive = &request;
}

void PointToPoint::open(ReceiveRequest& request, int source, int tag, Count bytes, int endpoint) {
  fill_status(request, source, tag, bytes, endpoint);
}

void PointToPoint::complete(ReceiveRequest& request) {
  request.streaming = false;
  request.complete();
  if (request.large != nullptr) large->forget(request);
  if (request.pair != nullptr) request.pair->part_done();
  release(&request);
}

Code ReceiveRequest::cancel() {
  if (queue == nullptr) return kSuccess;
  PointToPoint& p2p = *comm->process.p2p;
  if (large != nullptr && !p2p.large->may_cancel(*this)) return kSuccess;
  p2p.matching.remove(this);
  status.cancelled = true;
  p2p.complete(*this);
  return kSuccess;
}

/// Tells the peer, by an acknowledgement that names no message, the cost of all that was taken. Not a process
/// that has gone, nor when this one is about to.
void PointToPoint::give_credit(int endpoint) {
  if (finishing || link->has_ended(endpoint)) return;
  Peer& from = peer(endpoint);
  from.told_cost = from.taken_cost;
  answer(endpoint,
         AnswerHeader{.lead = lead_word(PacketKind::kAcknowledge), .bytes_wanted = from.taken_cost});
}

// ----- the message comes
// ------------------------------------------------------------------------------------

void PointToPoint::short_message(const Packet& packet) {
  const ShortHeader& header = header_of<ShortHeader>(packet);
  const Context context = header.context;
  const int source = lead_source(header.lead);
  const int tag = header.tag;
  const Count bytes = packet.data_bytes;
  const std::byte* data = packet.head + sizeof(ShortHeader);
  Peer& from = peer(packet.source);
  ++from.arrived;
  process.counters.of(Way::kShort).received.add(static_cast<std::uint64_t>(bytes));
  if (PostedReceive* posted = matching.match_arrival(context, source, tag)) {
    auto& receive = static_cast<ReceiveRequest&>(*posted);
    from.expects_short = from.expects_short || receive.large != nullptr;  // advertised in vain
    open_matched(receive, source, tag, bytes, packet.source);
    if (receive.datatype->contiguous) [[likely]] {
      const Count taken = std::min(bytes, receive.capacity());
      if (taken > 0) std::memcpy(receive.buffer, data, static_cast<std::size_t>(taken));
    } else {
      unpack(receive, data, bytes);
    }
    take_cost(packet.source, bytes);
    return complete(receive);
  }
  Message& message = make_message(*this, packet, source, tag, bytes);
  allocate(process, message);
  std::memcpy(message.data(), data, static_cast<std::size_t>(bytes));
  message.arrived_bytes = bytes;
  keep(message, context, Protocol::kShort);
}

std::unique_ptr<MessageSeal> PointToPoint::take_seal(int endpoint, Context context) {
  return checks != nullptr ? checks->take_seal(endpoint, context) : nullptr;
}

/// Of a message that came in cells: the next one from there had better find its receive than be kept.
void PointToPoint::complete_from_cells(ReceiveRequest& request) {
  constexpr Count kLooksMax = 4;
  complete(request);
  if (awaiting == nullptr || awaiting->count == 0 || awaiting->count > kLooksMax) return;
  for (Count i = 0; i < awaiting->count; ++i) {
    if (const Request* one = awaiting->requests[i]; one != nullptr && !one->done) return;
  }
  link->end_poll();
}

void PointToPoint::eager_message(const Packet& packet) {
  const EnvelopeHeader header = header_of<EnvelopeHeader>(packet);
  const int source = lead_source(header.lead);
  const auto bytes = static_cast<Count>(header.bytes);
  Peer& from = peer(packet.source);
  if (bytes < packet.bulk_bytes || bytes > kEagerBytesMax || from.eager_left != 0) {
    damaged(packet, "an eager message of a wrong size, or inside another one");
  }
  if (bytes >= LinePace::kBytesMin) large->look_at_sample(packet.source, bytes);
  ++from.arrived;
  from.expects_short = from.expects_short && bytes < table.sender_write_bytes_min;
  from.expects_at_once = from.expects_at_once || bytes >= table.sender_write_bytes_min;
  from.eager_left = bytes - packet.bulk_bytes;
  process.counters.of(Way::kEager).received.add(static_cast<std::uint64_t>(bytes));
  std::unique_ptr<MessageSeal> seal = take_seal(packet.source, header.context);
  if (PostedReceive* posted = matching.match_arrival(header.context, source, header.tag)) {
    auto& receive = static_cast<ReceiveRequest&>(*posted);
    open_matched(receive, source, header.tag, bytes, packet.source);
    if (receive.note != nullptr) checks->met(receive, seal.get());
    unpack(receive, packet.bulk, packet.bulk_bytes);
    take_cost(packet.source, bytes);
    if (header.sender != 0) acknowledge(*this, packet.source, header.sender);
    if (from.eager_left == 0) return complete_from_cells(receive);
    from.eager_receive = &receive;
    return;
  }
  Message& message = make_message(*this, packet, source, header.tag, bytes);
  message.sender = header.sender;
  message.synchronous = header.sender != 0;
  keep_seal(message, std::move(seal));
  allocate(process, message);
  if (packet.bulk_bytes != 0) copy_bytes(message.data(), packet.bulk, packet.bulk_bytes);
  message.arrived_bytes = packet.bulk_bytes;
  if (from.eager_left != 0) from.eager_message = &message;
  keep(message, header.context, Protocol::kEager);
}

void PointToPoint::more_of_eager(const Packet& packet) {
  Peer& from = peer(packet.source);
  if (packet.bulk_bytes == 0 || packet.bulk_bytes > from.eager_left) {
    damaged(packet, "more of an eager message than there is");
  }
  from.eager_left -= packet.bulk_bytes;
  if (ReceiveRequest* receive = from.eager_receive) {
    unpack(*receive, packet.bulk, packet.bulk_bytes);
    if (from.eager_left != 0) return;
    from.eager_receive = nullptr;
    complete_from_cells(*receive);
  } else if (Message* message = from.eager_message) {
    copy_bytes(message->data() + message->arrived_bytes, packet.bulk, packet.bulk_bytes);
    message->arrived_bytes += packet.bulk_bytes;
    if (from.eager_left == 0) from.eager_message = nullptr;
  }
}

void PointToPoint::request_to_send(const Packet& packet) {
  const RequestToSendHeader header = header_of<RequestToSendHeader>(packet);
  const int source = lead_source(header.lead);
  const auto bytes = static_cast<Count>(header.bytes);
  const LongMessage about{.sender = header.sender,
                          .source = {header.address, header.stride, header.block_bytes},
                          .generation = header.generation,
                          .get = header.get,
                          .kind = header.source_kind,
                          .aside = static_cast<std::int8_t>(lead_aside(header.lead))};
  if (bytes < 0) damaged(packet, "a request to send of a wrong size");
  large->look_at_sample(packet.source, bytes);
  Peer& from = peer(packet.source);
  ++from.arrived;
  from.expects_short = from.expects_at_once = false;
  if (bytes <= table.eager_bytes_max && from.told_cost != from.taken_cost) give_credit(packet.source);
  std::unique_ptr<MessageSeal> seal = take_seal(packet.source, header.context);
  if (PostedReceive* posted = matching.match_arrival(header.context, source, header.tag)) {
    auto& receive = static_cast<ReceiveRequest&>(*posted);
    open_matched(receive, source, header.tag, bytes, packet.source);
    if (receive.note != nullptr) checks->met(receive, seal.get());
    return large->matched(receive, about, bytes, false);
  }
  Message& message = make_message(*this, packet, source, header.tag, bytes);
  message.is_long = true;
  message.sender = header.sender;
  keep_seal(message, std::move(seal));
  static_assert(sizeof about <= sizeof message.small);
  std::memcpy(message.small, &about, sizeof about);
  keep(message, header.context, Protocol::kLong);
}

void PointToPoint::count_received(Way way, Count bytes, int endpoint, const char* why, bool message_first) {
  process.counters.count_received(way, static_cast<std::uint64_t>(bytes), message_first);
  if (explainer != nullptr) [[unlikely]]
    explainer->received(way, bytes, endpoint, why, message_first);
}

void PointToPoint::keep(Message& message, Context context, Protocol protocol) {
  ++process.counters.unexpected_arrivals;
  if (protocol != Protocol::kLong) {  // whose way is known, and counted, when its receive comes
    const Way way = protocol == Protocol::kShort ? Way::kShort : Way::kEager;
    process.counters.of(way).message_first.add(static_cast<std::uint64_t>(message.bytes));
    if (explainer != nullptr) [[unlikely]]
      explainer->received(way, message.bytes, message.endpoint, kSentAtOnce, true);
  }
  if (!message.is_long) process.counters.unexpected_bytes.add(static_cast<std::uint64_t>(message.bytes));
  matching.add(context, &message);
  if (process.events.is_wanted(Event::kUnexpectedMessage)) {
    process.events.raise(Event::kUnexpectedMessage,
                         {message.source, message.tag, message.bytes, static_cast<std::int64_t>(protocol)});
  }
}

void PointToPoint::fragment(const Packet& packet) {
  const FragmentHeader header = header_of<FragmentHeader>(packet);
  ReceiveRequest* receive = receives.find(header.receiver);
  if (receive == nullptr || !receive->streaming || receive->endpoint != packet.source) {
    damaged(packet, "a fragment for no receive that waits for one");
  }
  receive->put_to = false;  // the sender cannot write to the address that it got
  const Count position = receive->cursor.position();
  if (static_cast<Count>(header.position) != position || packet.bulk_bytes == 0 ||
      packet.bulk_bytes > receive->bytes_wanted - position) {
    damaged(packet, "a fragment that does not fit its message");
  }
  unpack(*receive, packet.bulk, packet.bulk_bytes);
  if (receive->cursor.position() == receive->bytes_wanted) complete(*receive);
}

void PointToPoint::asked_to_drop(const Packet& packet) {
  const EnvelopeHeader header = header_of<EnvelopeHeader>(packet);
  const auto source = static_cast<std::size_t>(lead_source(header.lead));
  if (header.sender == 0) damaged(packet, "a cancellation of no message");
  MatchQueue* const queue = matching.find(header.context);
  if (queue == nullptr || source >= queue->lanes.size()) return;
  for (ArrivedMessage* one = queue->lanes[source].arrived.first; one != nullptr; one = one->lane_next) {
    auto* const message = static_cast<Message*>(one);
    if (message->endpoint != packet.source || message->sender != header.sender) continue;
    matching.remove(message);
    const Ref<Message> dropped(message);
    return answer(packet.source,
                  AnswerHeader{.lead = lead_word(PacketKind::kWithdrawn), .sender = header.sender});
  }
}

// ----- calls
// ------------------------------------------------------------------------------------------------

Request* start_receive(void* buffer, Count count, Datatype& datatype, int source, int tag, Comm& comm,
                       Plane plane) {
  PointToPoint& p2p = *comm.process.p2p;
  ReceiveRequest* request = p2p.make_receive(buffer, count, datatype, source, tag, comm, plane);
  p2p.begin(*request);
  return request;
}

// ----- the short path
// ------------------------------------------------------------------------------------------------

namespace {

/// A blocking receive of a short message that comes from one source and that nothing else may match first:
/// straight out of the source's ring, with no request. It waits a while, as long as nothing but that message
/// comes; whatever else there is to do is for the usual way. False: nothing has happened.
[[gnu::always_inline]] inline bool receive_at_once(void* buffer, Count count, const Datatype& datatype,
                                                   int source, int tag, Comm& comm, Plane plane,
                                                   Status* status) {
  if (source < 0 || !datatype.contiguous) return false;
  Process& process = comm.process;
  PointToPoint& p2p = *process.p2p;
  const Context context = comm.context | static_cast<Context>(plane);
  if (!p2p.matching.is_first(context, source, tag)) return false;
  const int endpoint = comm.endpoint(source);
  const auto capacity = static_cast<std::uint64_t>(count * datatype.size);
  if (!p2p.peer(endpoint).expects_short && static_cast<Count>(capacity) >= p2p.table.sender_write_bytes_min)
    return false;
  const HeadFilter filter{
      head_words({lead_word(PacketKind::kShort, source), tag == kAnyTag ? 0 : tag, context}),
      head_words({~LeadWord{0}, tag == kAnyTag ? 0 : -1, 0}).first};
  SmallPacket taken;
  Found found;
  const std::uint32_t checks_per_poll = process.progress->checks_per_poll();
  std::uint32_t checks = 0;
  do {
    found = p2p.link->take_if(endpoint, filter, buffer, capacity, checks_per_poll, &taken);
    checks += checks_per_poll;
  } while (found == Found::kNothing && process.progress->spins_on(checks));
  if (found != Found::kTaken) return false;
  ++p2p.peer(endpoint).arrived;  // looked up again: the table grows when a process of another job comes
  p2p.take_cost(endpoint, static_cast<Count>(taken.bytes));
  process.counters.count_received(Way::kShort, taken.bytes, false);
  if (status != nullptr) {
    ShortHeader header;
    std::memcpy(&header, &taken.head, sizeof header);
    *status = Status{.source = source, .tag = header.tag, .bytes = taken.bytes};
  }
  return true;
}

}  // namespace

Code receive_message(void* buffer, Count count, Datatype& datatype, int source, int tag, Comm& comm,
                     Plane plane, Status* status) {
  if (source == kProcNull) [[unlikely]] {
    if (status != nullptr) set_proc_null_status(status);
    return kSuccess;
  }
  if (receive_at_once(buffer, count, datatype, source, tag, comm, plane, status)) [[likely]]
    return kSuccess;
  MessageChecks* const checks = comm.process.p2p->checks.get();
  if (checks != nullptr && plane == Plane::kPointToPoint) [[unlikely]] {
    if (Code code = checks->before_receive(buffer, count, datatype)) return code;
  }
  return wait_and_release(start_receive(buffer, count, datatype, source, tag, comm, plane), status);
}

namespace api {

Code recv(Process& process, void* buf, Count count, Datatype* datatype, int source, int tag, Comm* comm,
          Status* status) {
  if (Code code = check_size(process, count, *datatype)) return code;
  return receive_message(buf, count, *datatype, source, tag, *comm, Plane::kPointToPoint, status);
}

Code irecv(Process& process, void* buf, Count count, Datatype* datatype, int source, int tag, Comm* comm,
           Request** request) {
  if (Code code = check_size(process, count, *datatype)) return code;
  PointToPoint& p2p = *process.p2p;
  if (p2p.checks != nullptr && source != kProcNull) [[unlikely]] {
    if (Code code = p2p.checks->before_receive(buf, count, *datatype)) return code;
  }
  ReceiveRequest* const receive =
      p2p.make_receive(buf, count, *datatype, source, tag, *comm, Plane::kPointToPoint);
  if (p2p.checks != nullptr) [[unlikely]]
    p2p.checks->began(*receive);
  p2p.begin(*receive);
  *request = receive;
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki

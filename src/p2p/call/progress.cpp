// PointToPoint: its part of the progress loop. What waits goes out where there is room, what arrives goes to
// its handler.
#include "p2p/point_to_point.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "job/launcher.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/large/large.hpp"
#include "p2p/partitioned/partitioned.hpp"
#include "p2p/waiting_call.hpp"

namespace tasuki {

namespace {

constexpr int kFlushPacketsMax =
    32;  // to one peer in one turn, so that the others and the arrivals get theirs

/// `comm` ends: drops its queues and what is left in them.
void forget_communicator(Comm& comm) {
  PointToPoint* p2p = comm.process.p2p.get();
  if (p2p == nullptr) return;
  if (comm.process.config.check >= 3 && !comm.recurring) remember_unreceived(comm);
  for (Context plane = 0; plane < 4; ++plane) {
    MatchQueue* queue = p2p->matching.find(comm.context | plane);
    if (queue == nullptr || (comm.recurring && queue->arrived.first != nullptr)) continue;
    while (queue->arrived.first != nullptr) {
      auto* message = static_cast<Message*>(queue->arrived.first);
      p2p->matching.remove(message);
      Peer& peer = p2p->peer(message->endpoint);
      if (peer.eager_message == message) peer.eager_message = nullptr;
      release(message);
    }
    p2p->matching.forget(comm.context | plane);
  }
  p2p->partitioned->forget(comm.context);
}

}  // namespace

// ----- queues ----------------------------------------------------------------------------------------------

void SendQueue::push(SendRequest* request) {
  request->next = nullptr;
  (last != nullptr ? last->next : first) = request;
  last = request;
}

void SendQueue::push_front(SendRequest* request) {
  request->next = first;
  first = request;
  if (last == nullptr) last = request;
}

SendRequest* SendQueue::pop() {
  SendRequest* request = first;
  first = request->next;
  if (first == nullptr) last = nullptr;
  return request;
}

bool SendQueue::remove(SendRequest* request) {
  SendRequest* previous = nullptr;
  for (SendRequest* one = first; one != nullptr; previous = one, one = one->next) {
    if (one != request) continue;
    (previous != nullptr ? previous->next : first) = one->next;
    if (last == one) last = previous;
    return true;
  }
  return false;
}

// ----- life ------------------------------------------------------------------------------------------------

PointToPoint::PointToPoint(Process& owner)
    : process(owner),
      link(owner.link.get()),
      thresholds(distance_tables(processor_maker(owner.config.processor))),
      distances(owner.node, owner.size),
      bulk_bytes_max(owner.link->bulk_bytes_max()),
      credit_bytes(std::max(kCreditBytesMin, static_cast<std::uint64_t>(owner.config.unexpected_bytes_max) /
                                                 static_cast<std::uint64_t>(owner.size))),
      matching(owner.counters.queues),
      sent(owner),
      partitioned(std::make_unique<Partitioned>(*this)),
      large(std::make_unique<LargeMessages>(*this)) {
  if (link->endpoints() > kRanksMax) {
    process.launcher.abort(1, "a job has at most " + std::to_string(kRanksMax) + " ranks, not " +
                                  std::to_string(link->endpoints()));
  }
  if (process.checks != nullptr) {
    checks = std::make_unique<MessageChecks>(*this, *process.checks);
    matching.forbid_first();
  }
  read_settings();
  peers.grow(static_cast<std::size_t>(link->endpoints()));
  process.progress->add(this);
  process.forget_communicator = &forget_communicator;
}

void PointToPoint::read_settings() {
  const Config& config = process.config;
  table.eager_bytes_max = config.eager_bytes_max;
  table.turn_bytes_max =
      config.eager_bytes_max == kEagerBytesMaxDefault ? kTurnBytesMaxDefault : config.eager_bytes_max;
  table.set_thresholds(thresholds, config.sender_write_bytes_min, config.waiting_get_bytes_min,
                       config.cooperative_bytes_min, config.stream_bytes_min);
  distances.assume(config.distance != 0 ? std::optional(static_cast<Distance>(config.distance - 1))
                                        : std::nullopt);
  const bool compares = config.checks(kCheckCompare);  // see MessageChecks
  table.short_bytes_max = compares ? -1 : static_cast<Count>(kShortBytesMax);
  table.advertised_receives = config.advertised_receives != 0 && !compares;
  table.get = config.get != 0;
  table.cooperative = config.cooperative != 0;
  table.put = config.put != 0;
  const bool explain = config.explain == kExplainAll || (config.explain != 0 && process.rank == 0);
  if (explain && explainer == nullptr) {
    explainer = std::make_unique<Explainer>(process);
  } else if (!explain) {
    explainer.reset();
  }
}

PointToPoint::~PointToPoint() {
  process.progress->remove(this);
  // Messages that were never received: their data. What the user never waited for stays in the pools.
  messages.for_each([](Message& message) {
    message.heap.reset();
    message.seal.reset();
  });
  sends.for_each([](SendRequest& send) { send.note.reset(); });
  receives.for_each([](ReceiveRequest& receive) { receive.note.reset(); });
}

SendRequest* PointToPoint::make_send(const void* data, Count count, Datatype& datatype, int dest, int tag,
                                     Comm& comm, Plane plane, SendMode mode) {
  ++process.counters.send_requests;
  SendRequest* const request = sends.make(data, count, datatype, dest, tag, comm, plane, mode);
  if (checks != nullptr && plane == Plane::kPointToPoint) [[unlikely]]
    request->note = checks->note_send(count, datatype, mode);
  return request;
}

ReceiveRequest* PointToPoint::make_receive(void* data, Count count, Datatype& datatype, int source, int tag,
                                           Comm& comm, Plane plane) {
  ++process.counters.receive_requests;
  ReceiveRequest* const request = receives.make(data, count, datatype, source, tag, comm, plane);
  if (checks != nullptr && plane == Plane::kPointToPoint) [[unlikely]]
    request->note = checks->note_receive();
  return request;
}

// Requests and messages go back to the pool that they came from. The process outlives its communicators.
void SendRequest::operator delete(SendRequest* request, std::destroying_delete_t) {
  Process& process = request->comm->process;
  --process.counters.send_requests;
  process.p2p->sends.destroy(request);
}

void ReceiveRequest::operator delete(ReceiveRequest* request, std::destroying_delete_t) {
  Process& process = request->comm->process;
  --process.counters.receive_requests;
  process.p2p->receives.destroy(request);
}

void Message::operator delete(Message* message, std::destroying_delete_t) {
  if (PointToPoint* home = message->pool) {
    if (!message->is_long) {
      home->process.counters.unexpected_bytes.subtract(static_cast<std::uint64_t>(message->bytes));
      home->take_cost(message->endpoint, message->bytes);
    }
    home->messages.destroy(message);
  } else {
    message->~Message();
    ::operator delete(message);
  }
}

void SendReceiveRequest::part_done() {
  if (--parts_left != 0) return;
  status = receive->status;
  if (send->status.error != 0) status.error = send->status.error;
  complete();
  release(this);
}

bool has_open_operations(Comm& comm) {
  bool found = false;
  const auto look = [&](const Request& request) {
    found = found || (request.comm.get() == &comm && request.active && !request.done);
  };
  comm.process.p2p->sends.for_each(look);
  comm.process.p2p->receives.for_each(look);
  comm.process.p2p->partitioned->sends.for_each(look);
  comm.process.p2p->partitioned->receives.for_each(look);
  return found;
}

void flush_sends(Process& process) {
  const auto is_send = [](const Request& request, const void*) {
    return request.request_type == RequestType::kSend ||
           request.request_type == RequestType::kPartitionedSend;
  };
  const WaitingCall waiting(*process.p2p, is_send, nullptr);
  process.progress->wait_until([&] { return process.p2p->idle(); });
  process.error_owner = nullptr;
  process.p2p->error_owner = {};
}

// ----- what goes out ---------------------------------------------------------------------------------------

void PointToPoint::begin_waiting() {
  large->begin_waiting();
}

void PointToPoint::end_waiting() {
  large->end_waiting();
}

void PointToPoint::mark_busy(int endpoint) {
  if (std::exchange(peer(endpoint).busy, true)) return;
  busy.push_back(endpoint);
}

void PointToPoint::answer(int endpoint, const AnswerHeader& header) {
  if (!peer(endpoint).has_answers() && write_answer(*link, endpoint, header)) return;
  waiting_for(endpoint).answers.push_back(header);
  mark_busy(endpoint);
}

bool PointToPoint::flush_answers(int endpoint, std::vector<AnswerHeader>& answers) {
  std::size_t answered = 0;
  while (answered < answers.size() && write_answer(*link, endpoint, answers[answered])) ++answered;
  answers.erase(answers.begin(), answers.begin() + static_cast<std::ptrdiff_t>(answered));
  return answered != 0;
}

bool PointToPoint::flush(int endpoint) {
  const LargeMessages::Deferring deferring(*large);  // `to` stays where it is
  Peer& to = peer(endpoint);
  bool moved = to.has_answers() && flush_answers(endpoint, to.waiting->answers);
  if (to.has_answers()) return moved;

  for (int packets = 0; packets < kFlushPacketsMax && !to.messages.empty(); ++packets) {
    SendRequest& message = *to.messages.first;
    const Count position = message.cursor.position();
    const bool over = push_message(message);
    moved |= over || message.cursor.position() != position;
    if (!over) return moved;
    settle(*to.messages.pop());
  }
  return flush_bulk(to) || moved;
}

bool PointToPoint::flush_bulk(Peer& to) {
  bool moved = false;
  for (int packets = 0; packets < kFlushPacketsMax && !to.streams.empty(); ++packets) {
    SendRequest* stream = to.streams.pop();
    const bool is_open = stream->cursor.position() < stream->bytes_wanted;
    if (is_open && !push_stream(*stream)) {
      to.streams.push_front(stream);
      return moved;
    }
    moved |= is_open;
    // The receiver is to have all of it even if this rank never calls MPI again.
    if (stream->cursor.position() < stream->bytes_wanted || !link->has_left(stream->endpoint)) {
      to.streams.push(stream);
    } else {
      moved = true;
      complete(*stream);
    }
  }
  for (int packets = 0; packets < kFlushPacketsMax && to.has_partitioned(); ++packets) {
    std::vector<PartitionedSend*>& ready = to.waiting->partitioned;
    PartitionedSend* const message = ready.front();
    if (!message->push()) return moved;
    moved = true;
    ready.erase(ready.begin());
    if (message->pending.empty()) {
      message->all_pushed();
    } else {
      ready.push_back(message);
    }
  }
  return moved;
}

bool PointToPoint::poll() {
  bool moved = false;
  for (std::size_t i = 0; i < busy.size();) {
    const int endpoint = busy[i];
    moved |= flush(endpoint);
    Peer& one = peer(endpoint);
    if (one.messages.empty() && one.streams.empty() && (one.waiting == nullptr || one.waiting->empty())) {
      one.busy = false;
      busy[i] = busy.back();
      busy.pop_back();
    } else {
      ++i;
    }
  }
  if (link->poll(*this) != 0) moved = true;
  // What has left meanwhile is over, and what was lent with it.
  for (std::size_t i = 0; i < busy.size(); ++i) {
    Peer& one = peer(busy[i]);
    if (!one.streams.empty()) moved |= flush_bulk(one);
  }
  if (large->busy()) moved |= large->poll();
  return moved;
}

// ----- what comes in ---------------------------------------------------------------------------------------

void PointToPoint::packet(const Packet& packet) {
  switch (lead_kind(header_of<LeadWord>(packet))) {
    case PacketKind::kShort:
      return short_message(packet);
    case PacketKind::kEager:
      return eager_message(packet);
    case PacketKind::kEagerMore:
      return more_of_eager(packet);
    case PacketKind::kRequestToSend:
      return request_to_send(packet);
    case PacketKind::kClearToSend:
      return cleared_to_send(packet);
    case PacketKind::kFragment:
      return fragment(packet);
    case PacketKind::kAcknowledge:
      return acknowledged(packet);
    case PacketKind::kGetBegins:
      return get_begins(packet);
    case PacketKind::kGetDone:
      return get_done(packet);
    case PacketKind::kPutDone:
      return large->put_done(packet);
    case PacketKind::kWriting:
      return large->writing(packet);
    case PacketKind::kAdvertise:
      return large->advertised(packet);
    case PacketKind::kTakeBack:
      return large->asked_back(packet);
    case PacketKind::kTakenBack:
      return large->taken_back(packet);
    case PacketKind::kWithdraw:
      return asked_to_drop(packet);
    case PacketKind::kWithdrawn:
      return withdrawn(packet);
    case PacketKind::kSignature:  // of a job that checks what this one may not
      if (checks != nullptr) checks->seal_arrived(packet);
      return;
    case PacketKind::kPartitionedOffer:
      return partitioned->offer(packet);
    case PacketKind::kPartitionedStart:
      return partitioned->started(packet);
    case PacketKind::kPartition:
      return partitioned->partition(packet);
  }
  const bool is_known = packet.bulk_bytes == kDamaged;
  damaged(packet, is_known ? reinterpret_cast<const char*>(packet.bulk) : "a packet of no known kind");
}

void PointToPoint::written(std::uint32_t word) {
  large->written(word);
}

void PointToPoint::damaged(const Packet& packet, const char* what) {
  process.launcher.end_damaged(packet.source, what);
}

void PointToPoint::damaged_source(int endpoint) {
  process.launcher.end_damaged(endpoint, "a message from a rank that its communicator has not");
}

}  // namespace tasuki

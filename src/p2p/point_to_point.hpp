// PointToPoint: all that one rank knows about its messages: requests, matching, and what waits for room.
//
// One message, one story (in call/): send.cpp (choose, write, queue) -> protocol/write.hpp (into the
// link's room)
// -> receive.cpp (match, unpack). This file holds the state that they share, call/progress.cpp its part of
// the progress loop: what goes out when there is room, and which handler takes which packet.
//
// Thread safety: the process lock guards it all.
//
// Invariants:
//  1. Messages to one peer leave in the order of their sends: a message is written at once only when
//     peer.messages is empty.
//  2. A peer with anything in messages, answers, streams or partitioned is in `busy`, and only such peers are
//  visited.
//  3. The engine holds one reference to each request that is open, and none to any other.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/process.hpp"
#include "base/types.hpp"
#include "base/zero_table.hpp"
#include "link/link.hpp"
#include "p2p/arrived_message.hpp"
#include "p2p/awaiting.hpp"
#include "p2p/buffer_pool.hpp"
#include "p2p/distances.hpp"
#include "p2p/explain.hpp"
#include "p2p/matching.hpp"
#include "p2p/message_checks.hpp"
#include "p2p/message_requests.hpp"
#include "p2p/slot_pool.hpp"
#include "p2p/unreceived.hpp"
#include "progress/progress.hpp"
#include "protocol/choose.hpp"
#include "protocol/packet.hpp"
#include "protocol/write.hpp"

namespace tasuki {

class LargeMessages;
struct Partitioned;
struct PartitionedSend;

/// A queue of send requests, linked through SendRequest::next.
struct SendQueue {
  SendRequest* first = nullptr;
  SendRequest* last = nullptr;

  bool empty() const { return first == nullptr; }
  void push(SendRequest* request);
  void push_front(SendRequest* request);
  SendRequest* pop();
  bool remove(SendRequest* request);  // whether it was there
};

/// What waits for room to one endpoint, besides sends.
struct Waiting {
  std::vector<PartitionedSend*> partitioned;  // with partitions that are ready; served in turn
  std::vector<AnswerHeader> answers;          // to messages of this peer, and offers of partitioned ones

  bool empty() const { return partitioned.empty() && answers.empty(); }
};

/// What this rank shares with one endpoint. At first all of it is zero.
struct Peer {
  // Messages that can match a receive, but for those that were written to an advertised one: how many have
  // been sent, and how many that it sent have been matched or kept. The function that sends or takes one
  // counts it.
  std::uint64_t sent = 0;
  std::uint64_t arrived = 0;
  std::uint64_t answered = 0;         // of those that arrived: how many were a reason for is_turn()
  std::uint64_t answered_before = 0;  // and the time before
  // Of messages that go at once, short and eager: what they cost their receiver while it keeps them.
  std::uint64_t sent_cost = 0;   // of all that were sent to this peer
  std::uint64_t freed_cost = 0;  // of these, those that it has taken, as it told last
  std::uint64_t taken_cost = 0;  // of all that came from it and have been received, or dropped
  std::uint64_t told_cost = 0;   // of these, those that it was told of
  /// Whether a blocking receive of many bytes first waits for a short message, or is advertised to it: what
  /// came last decides.
  bool expects_short = false;
  bool expects_at_once = false;  // the same of messages that come at once: no receive is advertised
  bool is_noted = false;         // LargeMessages remembers what is sent to it
  bool busy = false;             // in PointToPoint::busy
  SendQueue messages;            // short and eager messages and requests to send, in order
  SendQueue streams;             // long messages that are cleared to send; served in turn
  Waiting* waiting = nullptr;    // null: nothing ever did

  // The eager message that is arriving in several packets: how much is to come, and where it goes (both null:
  // nowhere).
  Count eager_left = 0;
  ReceiveRequest* eager_receive = nullptr;
  Message* eager_message = nullptr;

  bool has_answers() const { return waiting != nullptr && !waiting->answers.empty(); }
  bool has_partitioned() const { return waiting != nullptr && !waiting->partitioned.empty(); }
};

struct PointToPoint final : PacketSink, ProgressHook {
  explicit PointToPoint(Process& process);
  ~PointToPoint();

  // --- requests ---
  SendRequest* make_send(const void* buffer, Count count, Datatype& datatype, int dest, int tag, Comm& comm,
                         Plane plane, SendMode mode);
  ReceiveRequest* make_receive(void* buffer, Count count, Datatype& datatype, int source, int tag, Comm& comm,
                               Plane plane);

  // --- send.cpp ---
  void begin(SendRequest& request);  // sends what can be sent now, queues the rest
  /// Writes a large message whole to a receive that is advertised, so that its buffer is free. False: there
  /// is none, and nothing has happened.
  bool write_alone(SendRequest& request);
  void push_or_queue(SendRequest& request);
  bool push_message(SendRequest& request);  // what waits for no answer; false: no room for all of it
  void settle(SendRequest& request);        // that has left: the send may be over
  void withdraw(SendRequest& request);      // that is cancelled and has left
  /// A message whose way is known, at this end; `why` is constant text for TASUKI_EXPLAIN.
  void count_sent(Way way, Count bytes, int endpoint, const char* why);
  void count_received(Way way, Count bytes, int endpoint, const char* why, bool message_first);
  [[gnu::cold]] void tell_choice(Protocol protocol, int dest, int tag, Count bytes);  // to a tool
  bool push_stream(SendRequest& request);  // one fragment of a long message; false: no room
  void complete(SendRequest& request);
  void credit(const Packet& packet);
  SendRequest& answered(const Packet& packet);  // the send that an answer names
  void acknowledged(const Packet& packet);
  void cleared_to_send(const Packet& packet);
  void get_begins(const Packet& packet);
  void get_done(const Packet& packet);
  void withdrawn(const Packet& packet);

  // --- receive.cpp ---
  void begin(ReceiveRequest& request);                     // matches what has arrived, or posts it
  void accept(ReceiveRequest& request, Message* message);  // receives a message that was taken from its queue
  void open(ReceiveRequest& request, int source, int tag, Count bytes,
            int endpoint);  // by what is written to it
  void complete(ReceiveRequest& request);
  void complete_from_cells(ReceiveRequest& request);
  void short_message(const Packet& packet);
  void eager_message(const Packet& packet);
  void more_of_eager(const Packet& packet);
  void request_to_send(const Packet& packet);
  void fragment(const Packet& packet);
  void asked_to_drop(const Packet& packet);
  std::unique_ptr<MessageSeal> take_seal(int endpoint, Context context);
  void keep(Message& message, Context context, Protocol protocol);  // which came before its receive

  // --- progress.cpp ---
  void packet(const Packet& packet) override;
  void written(std::uint32_t word) override;
  bool poll() override;

  // --- other_jobs.cpp: processes of other jobs ---
  void peer_joined(int endpoint) override;
  void peer_ended(int endpoint, bool finalized) override;
  void peer_finishing(int endpoint) override;
  /// Whether nothing can come from `source`, a rank of `comm` or any, beyond what has arrived: it has ended,
  /// or is in MPI_Finalize.
  bool is_forsaken(const Comm& comm, int source) const;
  void end_if_forsaken(const Comm& comm, int source);
  bool has_open_with(int endpoint);
  bool waits_in_vain(int endpoint);
  /// Whether a present call waits until this very request is over: not where another one may be enough.
  bool is_needed(const Request& request) const;
  bool is_vain(const Request& request) const;
  bool may_end(const Awaiting& wait) const;
  void end_forsaken(int endpoint, bool finalized);

  bool flush(int endpoint);  // sends of what waits for this endpoint what there is room for
  bool flush_answers(int endpoint, std::vector<AnswerHeader>& answers);
  bool flush_bulk(Peer& to);  // of it: long and partitioned messages
  /// A call begins to wait, and the last one ends to: WaitingCall alone calls them.
  void begin_waiting();
  void end_waiting();

  void mark_busy(int endpoint);
  void answer(int endpoint, const AnswerHeader& header);
  [[noreturn]] void damaged(const Packet& packet, const char* what);
  [[noreturn]] void damaged_source(int endpoint);
  /// Checks that a message which waits for its receive names a rank that exists. (Not where jobs have met: no
  /// rank knows all of their ranks.)
  void check_source(const Packet& packet, int source) {
    if (source >= link->endpoints() && link->endpoints() == process.size) [[unlikely]]
      damaged(packet, "a message from a rank that there is not");
  }
  /// What a message that goes at once costs a receiver which has to keep it.
  static std::uint64_t cost_of(Count bytes) { return static_cast<std::uint64_t>(bytes) + kMessageCost; }
  /// Whether the peer has room for such a message: a sender sends at once no more than its credit beyond what
  /// the receiver has told to have taken. What it may not send at once waits for its receive, as long
  /// messages do: so it is late, and nothing stands still for it.
  bool has_credit(int endpoint, Count bytes) {
    const Peer& to = peer(endpoint);
    return to.sent_cost + cost_of(bytes) - to.freed_cost <= credit_bytes;
  }
  bool may_send_at_once(const SendRequest& request);
  void count_sent_at_once(int endpoint, const Envelope& envelope, Count bytes) {
    peer(endpoint).sent_cost += cost_of(bytes);
    count_sent_message(endpoint, envelope);
  }
  void count_sent_message(int endpoint, const Envelope& envelope) {
    Peer& to = peer(endpoint);
    ++to.sent;
    if (to.is_noted) [[unlikely]]
      note_sent(endpoint, envelope);
  }
  [[gnu::cold]] void note_sent(int endpoint, const Envelope& envelope);
  /// A message that came at once is no longer kept.
  void take_cost(int endpoint, Count bytes) {
    Peer& from = peer(endpoint);
    from.taken_cost += cost_of(bytes);
    if (from.taken_cost - from.told_cost > credit_bytes / kCreditParts) [[unlikely]]
      give_credit(endpoint);
  }
  [[gnu::cold]] void give_credit(int endpoint);

  /// Whether it is this rank's turn: a message has come from this peer for which this was not true yet. Asked
  /// of those messages alone whose protocol may depend on it; else true.
  bool is_turn(int endpoint, Count bytes) {
    return bytes <= table.short_bytes_max || has_answered(endpoint, bytes);
  }
  bool has_answered(int endpoint, Count bytes);
  /// The message of which is_turn() was asked has not been sent, and it will be asked again.
  void keep_turn(int endpoint) {
    Peer& of = peer(endpoint);
    of.answered = of.answered_before;
  }

  /// Until the next poll(), in which processes of other jobs may come: the table grows then, and moves.
  Peer& peer(int endpoint) { return peers[static_cast<std::size_t>(endpoint)]; }
  /// Where something is to wait for room to this endpoint.
  Waiting& waiting_for(int endpoint) {
    Peer& to = peer(endpoint);
    if (to.waiting == nullptr) to.waiting = &waiting.emplace_back();
    return *to.waiting;
  }

  /// Whether nothing that this rank has to send waits for anything.
  bool idle() const { return sends_open == 0 && busy.empty(); }

  /// The table as the settings want it, over `thresholds`.
  void read_settings();

  static constexpr std::uint64_t kMessageCost = 512;  // a Message, its entries in lists, what malloc adds
  static constexpr std::uint64_t kCreditBytesMin = 128 * 1024;
  static constexpr std::uint64_t kCreditParts = 4;  // a peer is told of what was taken in such parts

  Process& process;
  Link* link;  // the process'; another stands before it once there is a network
  ProtocolTable table;
  DistanceTables thresholds;  // of the processor, or of the user's tuning table
  Distances distances;
  Count bulk_bytes_max;
  std::uint64_t credit_bytes;   // of each peer, in this rank's memory, and of this rank in each peer's
  std::string network_trouble;  // why there is no network to other jobs on other hosts; empty: not known
  ZeroTable<Peer> peers;        // by endpoint
  std::deque<Waiting> waiting;  // of peers
  Matching matching;
  std::vector<int> busy;  // endpoints
  std::uint64_t sends_open = 0;
  SentRequest sent;
  Awaiting* awaiting = nullptr;  // what the calls of now wait for
  bool finishing = false;        // in the last wait of MPI_Finalize
  std::set<int> bound;           // endpoints of other jobs that are connected by what was freed
  std::set<std::uint64_t> told;  // the jobs that are connected, as the launcher knows it
  SlotPool<SendRequest> sends;
  SlotPool<ReceiveRequest> receives;
  SlotPool<Message> messages;
  std::unique_ptr<Partitioned> partitioned;
  std::unique_ptr<MessageChecks> checks;  // null without TASUKI_CHECK
  std::unique_ptr<Explainer> explainer;   // null without TASUKI_EXPLAIN
  std::unique_ptr<LargeMessages> large;
  std::unique_ptr<BufferPool> buffer;         // MPI_Buffer_attach
  std::vector<UnreceivedMessage> unreceived;  // of communicators that are gone; with TASUKI_CHECK=3
  Ref<ErrorOwner> error_owner;                // keeps Process::error_owner alive
};

/// Of a receive or probe that takes messages of any rank: that this one's is one of `comm`.
inline void check_source(const Comm& comm, int source, int endpoint) {
  if (static_cast<std::size_t>(source) >= comm.peers().endpoints.size()) [[unlikely]]
    comm.process.p2p->damaged_source(endpoint);
}

/// A send in the buffered mode: returns when the message has left or lies in a buffer (MPI 3.6).
Code send_buffered(const void* buffer, Count count, Datatype& datatype, int dest, int tag, Comm& comm);

/// Waits until the buffer of a blocking send is the program's again, and releases the request.
Code wait_for_send_buffer(SendRequest* request);

/// Refuses a message whose size in bytes does not fit a Count.
Code check_size(Process& process, Count count, const Datatype& datatype);

/// Waits until nothing that this rank has sent, in any mode, waits for anything: MPI_Finalize needs it.
void flush_sends(Process& process);

/// MPI_BYTE.
Datatype& byte_type(Process& process);

}  // namespace tasuki

// LargeMessages: messages whose bytes go straight from one buffer to the other, in one copy.
//
// Each of the two ranks has an End of such a message, beside its request. Three ways lead there:
//   sender write  the receive was advertised (advertised_receives.cpp): the sender claims it and copies, the
//                 receiver joins in when it makes progress; between nodes the sender has the network write
//                 (network_receives.cpp)
//   get           the request to send says where the source lies: the receiver copies; where it is worth it,
//                 it says where the destination lies, and the sender joins in (cooperative copy)
//   put           only the destination is symmetric memory: the receiver says where, the sender copies
// Between nodes, where that pays (Link::copy_bytes_min), get and put are the network's: dense buffers are
// named by keys (network_copies.cpp). Where both may copy they share a CooperativeCopy; where one copies
// alone it sends the other a packet when it is done. A rank waits for the other's copying in the progress
// loop alone: an End whose rank has nothing left to claim stays in `active` until the copy is over, and the
// rank that finishes last wakes the other.
//
// A copy that both ranks share is left to those that wait:
//   a nonblocking send or receive begins the copy of a long message and returns
//   a rank that does not wait, as in MPI_Test, leaves the copy to the other end as long as that one waits
//   (PairPage::sender_waits) and the copy goes on
//   a rank that waits copies what it sends first, and helps others with what it receives when that is done:
//   where all send and receive, each copies its own
//
// Ownership: an End belongs to its rank's pool and lives from when it is known that a request may go one of
// these ways until the request is complete or goes another way.
// Thread safety: the process lock guards it; what the ranks share is in PairPage and CooperativeCopy. A
// thread lets go of the lock while it copies a piece, which it has claimed before and reports with the lock.
// So the copy is not over meanwhile, and its End, request and line stay. With threads packets only begin a
// copy: it is carried on by poll(), several by several threads, or by the call that sends.
//
// Invariants:
//  1. The request of an End in `active` is open, and only that End's carry() or finish() completes it.
//  2. A line of an incoming page is marked in `open_lines` from its advertisement until it is free again.
//  3. A rank reads another one's list of blocks only while that one waits for it: the list goes with its
//     datatype, which may be freed as soon as the request is complete. So what is listed is got or put by one
//     rank, and neither advertised nor copied by both.
//  4. An End that is in hand is carried on by that thread alone.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/lazy_table.hpp"
#include "base/types.hpp"
#include "link/link.hpp"
#include "memory/symmetric_heap.hpp"
#include "p2p/slot_pool.hpp"
#include "protocol/choose.hpp"
#include "protocol/cooperative_copy.hpp"
#include "protocol/line_pace.hpp"
#include "protocol/packet.hpp"
#include "protocol/pair_page.hpp"
#include "protocol/strided_buffer.hpp"
#include "protocol/write.hpp"

namespace tasuki {

struct PointToPoint;
struct SendRequest;
struct ReceiveRequest;

/// What a request to send says about its message, as a Message keeps it.
struct LongMessage {
  RequestId sender = 0;
  StridedBuffer source;
  std::uint16_t generation = 0;
  std::uint8_t get = kNoGet;
  SourceKind kind = SourceKind::kIrregular;
  std::int8_t aside = -1;  // of PairPage::asides
};

/// One rank's end of a large message.
struct LargeEnd {
  SendRequest* send = nullptr;        // exactly one of the two is there
  ReceiveRequest* receive = nullptr;  //
  int endpoint = 0;                   // of the other end
  StridedBuffer here;                 // the own buffer, by its own address; none: irregular
  SymmetricAddress global = 0;        // its global address; 0: private
  StridedBuffer there;                // the other end's, where this rank may copy; else none
  CooperativeCopy* copy = nullptr;    // null: this rank copies alone
  std::uint32_t generation = 0;       // of the copy
  std::uint32_t line_generation = 0;  // of the advertised receive
  CooperativeCopyEnd part;            // in the transfer, from when the copying begins
  ByteRange claimed;                  // what this rank has claimed before
  int line = -1;                      // of the advertised receive, or of the copy that it has lent
  Count bytes = 0;                    // to be copied
  Count copied = 0;                   // of them by this rank
  int looks_in_vain = 0;           // at a copy that was left to the other end, since that has last done any
  int aside_line = -1;             // of the message, which may be set aside there
  std::int64_t aside_at_ns = 0;    // when it is time to, by the clock of waits; 0: not known yet
  void* aside = nullptr;           // the copy that was set aside
  bool streamed = false;           // what the sender writes goes past its caches
  bool is_left = false;            // a sender write of which the sender has claimed nothing at first
  RequestId other = 0;             // alone: the other end's request, which gets the answer
  bool in_hand = false;            // a thread copies, and may have let go of the process lock
  bool by_network = false;         // the link copies, and adds one to
  std::uint64_t network_done = 0;  // this
  MemoryKey own;                   // `here`, as the other end may name it; none: it may not
  // Of a receive that is advertised to another node.
  MemoryKey theirs;         // at the sender: what it has claimed
  std::uint32_t name = 0;   // by which both ranks know it
  bool announced = false;   // the sender has said which message it writes
  bool written = false;     // all of it is there
  bool asked_back = false;  // of the sender, since it is to be cancelled
};

class LargeMessages {
 public:
  explicit LargeMessages(PointToPoint& p2p);

  /// While one of these is there, a call begins a send and a receive at once. Its peers most likely do so,
  /// too: then each rank has a message to copy, and they do not share them. The receiver gets, so that each
  /// buffer's lines stay with the rank that uses it; but long ones that are streamed their senders write.
  class Exchange {
   public:
    explicit Exchange(LargeMessages& messages) : messages_(messages) { messages_.exchanging_ = true; }
    ~Exchange() { messages_.exchanging_ = false; }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

   private:
    LargeMessages& messages_;
  };

  /// Whether that rank's memory may be reached: it is of this job, and of this node.
  bool is_local(int endpoint) const {
    const auto index = static_cast<std::size_t>(endpoint);
    return index < far_.size() && far_[index] == 0;
  }

  /// While one of these is there, what is sent is copied later where that lets go of the process lock.
  class Deferring {
   public:
    explicit Deferring(LargeMessages& messages)
        : messages_(messages), before_(std::exchange(messages.deferring_, true)) {}
    ~Deferring() { messages_.deferring_ = before_; }
    Deferring(const Deferring&) = delete;
    Deferring& operator=(const Deferring&) = delete;

   private:
    LargeMessages& messages_;
    const bool before_;
  };

  // --- the sender ---
  /// Whether claim() is worth a call for a message of that size.
  bool may_claim(int endpoint, Count bytes);
  /// What an advertised receive means for a message.
  enum class Advertised : std::uint8_t {
    kNone,           // there is none that takes it
    kClaimed,        // one has been claimed: the message is written to it
    kReceiverWaits,  // there is one, and its rank waits: it gets the message as soon as it is asked to
  };
  /// Claims an advertised receive for the message, unless the receiver is to get it. REQUIRES: nothing is
  /// queued.
  Advertised claim(SendRequest& send);
  /// The same, and writes the whole message there, without the receiver: the send buffer is free. False:
  /// there is no such receive, and nothing has happened.
  bool write_alone(SendRequest& send);
  /// Writes the packet that opens the message: kWriting, or a request to send. False: there is no room.
  bool open(SendRequest& send);
  /// A claimed message has been opened: copies what the receiver does not copy.
  void sender_write(SendRequest& send);
  /// Whether no more messages to that rank can be set aside, as far as this one knows.
  bool has_all_set_aside(int endpoint) {
    return is_local(endpoint) && peer(endpoint).asides_used == kAllAsides;
  }
  /// Whether one more can be, which the receiver may not have asked for yet.
  bool can_set_aside(int endpoint) { return memory_.exists() && !has_all_set_aside(endpoint); }
  /// Sets a message aside whose receiver has not come for about as long as a copy takes. True: the send
  /// buffer is free, and the request goes on without its call.
  bool set_aside(SendRequest& send);
  /// The receiver's answers to a request to send. `put` is for one that has an address; false: this rank
  /// cannot write there, so that fragments have to go (the receiver does not know what its peers can map).
  void get_begins(SendRequest& send, const Packet& packet);
  bool put(SendRequest& send, const AnswerHeader& header);
  /// A message has been sent, which was not written to an advertised receive, to a rank that has advertised
  /// some.
  void note_sent(int endpoint, const Envelope& envelope);
  /// The request is over.
  void forget(SendRequest& send);
  void forget(ReceiveRequest& receive);

  // --- the receiver ---
  /// A receive has been posted: advertises it, if that can be.
  void posted(ReceiveRequest& receive);
  /// Something has matched an advertised receive, or it is cancelled. False: too late, it has been claimed.
  bool withdraw(ReceiveRequest& receive);
  /// A receive that is or wants to be advertised is to be cancelled. True: it has been withdrawn. False: it
  /// is claimed, or its sender on another node has been asked, and it is cancelled when that one says so.
  bool may_cancel(ReceiveRequest& receive);
  /// A call of this rank begins or ends to wait: said to those senders who may write to advertised receives.
  void begin_waiting() {
    if (!advertising_.empty()) publish_waiting(true);
    if (!active_.empty()) show_waiting();
  }
  void end_waiting() {
    if (!advertising_.empty()) publish_waiting(false);
    if (!shown_waiting_.empty()) hide_waiting();
  }
  /// A request to send has met its receive.
  void matched(ReceiveRequest& receive, const LongMessage& said, Count bytes, bool message_first);
  void writing(const Packet& packet);
  void put_done(const Packet& packet);

  // --- how far cache lines travel between this rank and another one of the node ---
  /// Whether what is written for that rank, or by it for this one, goes past the writer's caches.
  bool is_streamed_to(int endpoint, Count bytes) {
    return is_streamed(endpoint, bytes, &LargeMessages::lines_to);
  }
  bool is_streamed_from(int endpoint, Count bytes) {
    return is_streamed(endpoint, bytes, &LargeMessages::lines_from);
  }
  /// Whether a message is rather streamed than sent in cells that pass between the two ranks, though it is
  /// this one's turn. Where messages go both ways at the same time, shorter ones go in cells.
  bool is_streamed_in_turn(int endpoint, Count bytes) {
    if (bytes < LinePace::kBytesMin || !is_local(endpoint)) return false;
    note_exchange(endpoint);
    return (bytes >= kExchangedBytesMin || !(exchanging_ || peer(endpoint).exchanges > 0)) &&
           is_streamed_to(endpoint, bytes);
  }
  /// A message is to be opened. True: it counts, and has to be taken back if it is not opened.
  bool write_sample(int endpoint, Count bytes);
  void take_sample_back(int endpoint) { --peer(endpoint).opened; }
  /// The packet that opens a message has come: the first thing that is done with it.
  void look_at_sample(int endpoint, Count bytes);
  /// The same of collectives, which count by themselves: before what tells the other rank that this one is
  /// there, and after that was seen. `bytes`: of what they move.
  void write_line(int endpoint, Count bytes);
  void load_line(int endpoint, Count bytes);
  /// What this rank knows of the lines between that one and itself.
  Lines lines_between(int endpoint);

  // --- advertised receives between nodes ---
  void advertised(const Packet& packet);
  void asked_back(const Packet& packet);
  void taken_back(const Packet& packet);
  /// The network has written a message.
  void written(std::uint32_t name);

  // --- partitioned messages, whose buffers either end may hand over ---
  /// The same bytes as that rank knows them; none: they are private.
  StridedBuffer as_shared(int endpoint, const StridedBuffer& here, Count bytes) const;
  /// Whether this rank can address the first `bytes` of a message in a buffer of that rank's.
  bool reach(int endpoint, const StridedBuffer& buffer, Count bytes);

  /// Whether poll() has anything to do.
  bool busy() const { return !active_.empty() || !advertising_.empty() || !held_back_.empty(); }
  /// Goes on with what is active; shows senders what has been processed; advertises what had to wait.
  bool poll();

 private:
  /// A receive of a rank of another node that this rank may claim.
  struct FarReceive {
    int line;
    std::int32_t tag;
    Context context;
    std::uint32_t name;
    MemoryKey buffer;
  };
  static constexpr std::uint32_t kNotedMax = 16;
  static constexpr Count kExchangedBytesMin = 64 * 1024;
  /// Those of one rank, as posted.
  struct FarReceives {
    explicit FarReceives(std::uint64_t sent) : noted_from(static_cast<std::uint32_t>(sent)) {}

    std::vector<FarReceive> open;
    std::uint32_t processed = 0;              // of this rank's messages, when it advertised the last one
    const std::uint32_t noted_from;           // from which message on
    std::array<Envelope, kNotedMax> noted{};  // the last messages that were sent, by number
  };
  /// What this rank shares with one peer. The pages are null until they are first needed.
  struct Peer {
    PairPage* out = nullptr;      // for messages to it
    PairPage* in = nullptr;       // for messages from it
    std::uint32_t gets_used = 0;  // bit: out->gets that are lent
    std::array<std::uint16_t, kGets> get_generations{};
    // How often each line was claimed, by this rank and by the peer: the generations of their copies. The
    // packets that say so arrive in order, so both ends count alike.
    std::array<std::uint16_t, kAdvertisedReceives> claims{};
    std::array<std::uint16_t, kAdvertisedReceives> peer_claims{};
    std::uint32_t asides_used = 0;                      // bit: out->asides that are lent
    std::array<std::uint32_t, kAsides> aside_states{};  // of each, while nobody has the message
    std::uint32_t open_lines = 0;                       // bit: in->receives that are not free
    std::uint32_t serial_next = 0;
    std::uint64_t published = 0;  // what in->processed says
    LinePace pace;                // of lines from it
    std::uint32_t opened = 0;     // messages to it that may be sampled
    std::uint32_t arrived = 0;    // the same from it
    std::uint32_t written = 0;    // what out->sample says
    std::uint32_t loaded = 0;     // what in->sample said last
    RequestId posted = 0;         // the last receive from it of a long message
    int exchanges = 0;            // above 0: lately such a receive was open when this rank sent to it
    bool sent_since_posted = false;
    bool is_shown_waiting = false;  // in->open says that this rank waits
    bool is_told_waiting = false;   // out->sender_waits says so
  };
  /// The same for one on another node.
  struct FarPeer {
    std::uint32_t open_lines = 0;         // bit: this rank's receives that are advertised to it
    std::unique_ptr<FarReceives> theirs;  // that it has advertised; null: none ever
  };
  /// Of a receive that this rank has advertised to another node: its end; and its name's generation.
  struct Name {
    LargeEnd* end = nullptr;
    std::uint16_t generation = 0;
  };

  // large.cpp
  /// The address by which that rank knows an own buffer; 0: it cannot reach it, or its list.
  SymmetricAddress global_address(int endpoint, const StridedBuffer& here, Count bytes) const;
  LargeEnd& end_of(SendRequest& send);
  bool may_be_shared(int endpoint, Count bytes);
  void lend_copy(LargeEnd& end);
  bool carry(LargeEnd& end, Count budget);
  bool carry_alone(LargeEnd& end, Count budget);
  void move(LargeEnd& end, Count begin, Count to);
  bool carry_part(LargeEnd& end, Count budget);
  void begin(LargeEnd& end, Count budget);
  /// Whether both ends may copy, as far as this one knows.
  static bool is_shared(const LargeEnd& end) { return end.copy != nullptr && end.there.exists(); }
  bool is_left_to_other(LargeEnd& end);
  bool has_own_to_copy() const;
  bool carry_turn(LargeEnd& end, Count budget);
  void show_waiting();
  void show_waiting_to(int endpoint);
  void hide_waiting();
  void finish(LargeEnd& end);
  void take_out(const LargeEnd& end, std::size_t place);
  void copy(LargeEnd& end, Count begin, Count to);
  void retire(const CooperativeCopy& copy);

  // lines.cpp
  bool is_streamed(int endpoint, Count bytes, Lines (LargeMessages::*lines)(int));
  Lines lines_to(int endpoint);
  void note_exchange(int endpoint);
  Lines lines_from(int endpoint);
  void add_sample(int endpoint, std::int64_t ns);
  bool is_measured(int endpoint, Count bytes);

  // set_aside.cpp
  void lend_aside(LargeEnd& end, Count bytes);
  void release_aside(LargeEnd& end);
  LongMessage take(int endpoint, LongMessage message);

  // network_copies.cpp
  bool may_copy(int endpoint, Count bytes) const;
  bool name_own(LargeEnd& end, Count bytes);
  bool put_by_network(LargeEnd& end, const AnswerHeader& header);
  bool get_by_network(LargeEnd& end, const LongMessage& message);
  void matched_far(ReceiveRequest& receive, const LongMessage& message, Count bytes, bool message_first);
  void unname(LargeEnd& end);

  // network_receives.cpp
  bool may_claim_far(int endpoint, Count bytes);
  bool is_untouched(int endpoint, const FarReceive& receive);
  Advertised claim_far(SendRequest& send);
  void posted_far(ReceiveRequest& receive, int endpoint);
  bool advertise_far(LargeEnd& end);
  void release_far(LargeEnd& end);
  LargeEnd* named(std::uint64_t name);
  void writing_far(const Packet& packet);
  void finish_written(LargeEnd& end);
  void write_far(LargeEnd& end);

  // advertised_receives.cpp
  PairPage* page(PairPage*& known, int from, int to);
  /// The table for messages to and from a rank of this job.
  const DistanceTable& table_for(int endpoint);
  /// Whether it is a rank of this job on another node.
  bool is_far(int endpoint) const {
    const auto index = static_cast<std::size_t>(endpoint);
    return index < far_.size() && far_[index] != 0;
  }
  /// What that rank of another node has advertised; null: nothing ever.
  FarReceives* far_receives(int endpoint) const {
    if (!is_far(endpoint)) return nullptr;
    const FarPeer* const from = far_peers_.find(static_cast<std::size_t>(endpoint));
    return from != nullptr ? from->theirs.get() : nullptr;
  }
  /// REQUIRES: is_local(endpoint).
  Peer& peer(int endpoint) { return peers_[static_cast<std::size_t>(endpoint)]; }
  /// REQUIRES: is_far(endpoint).
  FarPeer& far_peer(int endpoint) { return far_peers_[static_cast<std::size_t>(endpoint)]; }
  bool may_advertise(const ReceiveRequest& receive) const;
  bool advertise(ReceiveRequest& receive);
  void release_line(int endpoint, int line);
  void publish(int endpoint);
  void end_advertising(int endpoint);
  static void publish_open(Peer& from);
  void publish_waiting(bool waits);
  void retry_held_back();

  PointToPoint& p2p_;
  SymmetricHeap& memory_;
  std::vector<std::uint8_t> far_;  // by endpoint; the ranks of this job: 1: on another node
  LazyPages<Peer> peers_;          // by endpoint; those of this node
  LazyTable<FarPeer> far_peers_;   // by endpoint; those of other nodes
  SlotPool<LargeEnd> ends_;
  std::vector<LargeEnd*> active_;
  std::vector<int> shown_waiting_;    // endpoints that have been told that this rank waits
  bool exchanging_ = false;           // see Exchange
  bool deferring_ = false;            // see Deferring
  std::vector<int> advertising_;      // endpoints with open_lines
  std::vector<RequestId> held_back_;  // receives that have to wait with their advertisement, as posted
  std::size_t held_back_next_ = 0;    // which one poll() looks at next
  std::vector<Name> names_;           // by their index
  std::vector<std::uint16_t> free_names_;
};

}  // namespace tasuki

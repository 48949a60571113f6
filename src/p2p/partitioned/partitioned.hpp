// Partitioned communication (MPI 4.2): a persistent message whose parts its two ends report one by one.
//
//   sender                                   receiver
//   psend_init   -- kPartitionedOffer -->    matched with a precv_init by (communicator, source, tag), in
//   order start                                    start
//                <-- kPartitionedStart --    (once a cycle: the buffer is ready; the request to write to)
//   pready       -- kPartition …       -->   parrived
//
// What is ready goes out as soon as the receiver has started, neighbouring partitions as one run of bytes.
// Where the receiver's buffer is symmetric memory its start says where it lies: the sender writes the run
// there, and the packet only says so. Else the packets bring the bytes, cut as the link needs it. The two
// ends may cut the message into different numbers of partitions; the receiver counts the bytes that each of
// its own lacks. Where there are no bytes at all, the packets name the sender's partitions instead, and a
// partition of the receiver has arrived with the last partition of the sender that it overlaps.
//
// Owner: PointToPoint has the pools and the matching, apart from that of ordinary messages. As for these, a
// request holds a reference of the engine from start() until its cycle is over.
// Thread safety: the process lock guards it all; MPI_Pready may be called from any thread under it.
//
// Invariants:
//  1. A receiver starts a cycle only when the one before is over; so a sender has at most one start that it
//     has not used.
//  2. A PartitionedSend stands in Peer::partitioned exactly when it is cleared and has something pending.
//  3. A receive has an OfferPlace exactly as long as it is not matched. The place of a receive that was freed
//     before stays in the matching and takes its offer, so that the pairs behind it match as they should.
#pragma once

#include <cstdint>
#include <deque>
#include <new>
#include <set>
#include <vector>

#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "p2p/matching.hpp"
#include "p2p/request.hpp"
#include "p2p/slot_pool.hpp"
#include "protocol/packet.hpp"
#include "protocol/strided_buffer.hpp"

namespace tasuki {

struct PointToPoint;

/// A buffer of `partitions` equal partitions.
struct PartitionedRequest : Request {
  PartitionedRequest(RequestType its_type, int partition_count, Count elements, Datatype& element_type,
                     int peer_rank, int message_tag, Comm& on)
      : Request(its_type, on),
        partitions(partition_count),
        partition_bytes(elements * element_type.size),
        datatype(Ref<Datatype>::share(&element_type)),
        peer(peer_rank),
        tag(message_tag),
        endpoint(peer_rank == kProcNull ? 0 : on.endpoint(peer_rank)),
        cursor(element_type, elements * partition_count) {
    persistent = true;
  }

  const int partitions;
  const Count partition_bytes;
  Ref<Datatype> datatype;
  const int peer;  // rank in the communicator, or kProcNull
  const int tag;
  const int endpoint;  // the peer's number in the job
  PackCursor cursor;
  Count bytes_wanted = 0;  // of a cycle: what both ends hold
};

struct PartitionedSend final : PartitionedRequest {
  /// A message of no partitions is sent as one partition of no elements.
  PartitionedSend(const void* data, int partition_count, Count elements, Datatype& element_type, int dest,
                  int message_tag, Comm& on)
      : PartitionedRequest(RequestType::kPartitionedSend, partition_count == 0 ? 1 : partition_count,
                           partition_count == 0 ? 0 : elements, element_type, dest, message_tag, on),
        has_none(partition_count == 0),
        buffer(data),
        ready(static_cast<std::size_t>(partitions)),
        here(strided_buffer(data, cursor.count(), element_type)) {}
  static void operator delete(PartitionedSend* request, std::destroying_delete_t);
  Code start() override;

  /// Partitions [first, end) that are ready and not sent.
  struct Run {
    int first;
    int end;
  };
  void mark_ready(int first, int end);
  /// Queues for sending what is pending, if the receiver has started, and sends what there is room for.
  void send_pending();
  /// The next packet. False: no room. REQUIRES: something is pending.
  bool push();
  /// Of it: bytes from the cursor's place on, at most up to byte `end`.
  bool push_bytes(Count end);
  /// Nothing is pending any more, and the request in no queue: the cycle may be over.
  void all_pushed();

  const bool has_none;  // for the user; its one partition is ready from the start
  const void* buffer;
  std::vector<bool> ready;
  int ready_count = 0;
  std::deque<Run> pending;
  bool run_open = false;      // the cursor stands in pending.front()
  bool cleared = false;       // the receiver has started this cycle
  bool cleared_next = false;  // and the next one
  bool queued = false;        // in Peer::partitioned
  RequestId receiver = 0;
  StridedBuffer here;   // `buffer`; none: irregular
  StridedBuffer there;  // the receiver's buffer, where this rank can write to it; else none
};

struct PartitionedReceive;

/// Where a receive waits in the matching for its sender's offer.
struct OfferPlace final : PostedReceive {
  explicit OfferPlace(PartitionedReceive& its_receive);
  PartitionedReceive* receive;  // null: it was freed
};

struct PartitionedReceive final : PartitionedRequest {
  PartitionedReceive(void* data, int partition_count, Count elements, Datatype& element_type, int from,
                     int message_tag, Comm& on)
      : PartitionedRequest(RequestType::kPartitionedReceive, partition_count, elements, element_type, from,
                           message_tag, on),
        buffer(data),
        lacking(static_cast<std::size_t>(partition_count)) {}
  ~PartitionedReceive() override;
  static void operator delete(PartitionedReceive* request, std::destroying_delete_t);
  Code start() override;

  /// The offer that came from that endpoint is for this receive.
  void match(int from_endpoint, const OfferHeader& offer);
  /// Sends the sender a packet: the buffer is ready.
  void clear_sender();
  /// Bytes of the message from `position` on, which a packet has brought; null: the sender has written them.
  void take_bytes(Count position, const std::byte* data, Count bytes);
  /// Partitions [first, end) of the sender's `of` are ready; there are no bytes.
  void take_names(int first, int end, int of);
  void finish();

  void* buffer;
  std::vector<Count> lacking;  // bytes, or partitions of the sender, that each partition waits for
  OfferPlace* place = nullptr;
  bool matched = false;
  bool is_shared = false;  // the sender knows where the buffer lies
  RequestId sender = 0;
  Count sender_bytes = 0;
  Code mismatch = kSuccess;  // of the types of the two ends, with TASUKI_CHECK
  Count bytes_arrived = 0;
  int notices_left = -1;  // partitions of the sender; -1: none was named yet
};

/// What one rank knows of its partitioned messages: their requests and offers, and what to do with packets.
struct Partitioned {
  explicit Partitioned(PointToPoint& owner) : p2p(owner) {}

  void offer(const Packet& packet);
  void started(const Packet& packet);
  void partition(const Packet& packet);
  /// Drops the offers on a communicator that goes away, and the queue once no freed receive waits in it.
  void forget(Context context);
  /// An offer has come for a receive that was freed.
  void drop_offer(Context context);

  PointToPoint& p2p;
  QueueLevels levels;         // not shown by any variable
  Matching matching{levels};  // offers, and places of receives, that wait for each other
  SlotPool<OfferPlace> places;
  std::set<Context> ended;  // of communicators that are gone: freed receives wait for offers there
  SlotPool<PartitionedSend> sends;
  SlotPool<PartitionedReceive> receives;
};

}  // namespace tasuki

// MessageChecks: the checks of TASUKI_CHECK that messages need (check/checks.hpp has those of one call).
//
// From level 2 on each message of the user's is announced: a kSignature packet goes ahead of it to the same
// endpoint, and says of which basic types it is, and by which call it is sent. What follows next from there,
// in the plane of point-to-point communication, is that message (protocol/packet.hpp), whether it waits for
// its receive or not. The receiver compares when the two have met: what was sent has to be the first basic
// types of what is received (MPI 3.3.1). Then no message takes the short path, none is written into a receive
// that was advertised, and every short one goes the way of eager ones; so all of them come by two functions.
//
// At level 3 a receive remembers the checksum of its buffer; when its message comes, it reports a program
// that has written there.
//
// A peer of another job may check less, and announce nothing; then nothing is compared. A process that checks
// less than its peer ignores the announcements.
//
// Ownership: PointToPoint, null below level 1; notes belong to their requests. Thread safety: the process
// lock guards it all.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/types.hpp"
#include "check/checks.hpp"
#include "datatype/datatype.hpp"
#include "protocol/packet.hpp"

namespace tasuki {

struct PointToPoint;
struct Message;
struct Request;
struct SendRequest;
struct ReceiveRequest;
struct PartitionedSend;
struct PartitionedReceive;
enum class SendMode : std::uint8_t;

/// What a sender says of its message.
struct MessageSeal {
  std::uint64_t elements = 0;  // basic ones
  std::uint64_t hash = 0;      // of their sequence
  std::uint16_t only = 0;      // the basic type, where there is but one
  bool packed = false;         // goes with everything
  bool ready = false;          // in the ready mode
  bool early = false;          // it came before its receive
  char call[28] = {};          // the function that sends it; ends with NUL
};

/// What is remembered of a request of the user's.
struct MessageNote {
  MessageSeal seal;     // of a send
  bool sealed = false;  // its seal has left
  const char* call = nullptr;
  bool armed = false;  // of a receive: `checksum` is that of its buffer
  std::uint64_t checksum = 0;
};

class MessageChecks {
 public:
  MessageChecks(PointToPoint& p2p, Checks& checks) : p2p_(p2p), checks_(checks) {}

  // The calls: before they begin, and when they have left a request behind.
  Code before_send(const void* buffer, Count count, Datatype& datatype, const char* name = "buf");
  Code before_receive(void* buffer, Count count, Datatype& datatype, const char* name = "buf");
  Code before_exchange(const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                       Count recvcount, Datatype& recvtype);
  void began(SendRequest& send);
  void began(ReceiveRequest& receive);
  void began_exchange(Request& pair, SendRequest& send, ReceiveRequest& receive);

  // Partitioned messages, whose offers carry the hash of their types.
  void seal_offer(const PartitionedSend& send, OfferHeader* offer) const;
  /// The error of a receive whose types are not those of the offer.
  Code compare_offer(const PartitionedReceive& receive, const OfferHeader& offer) const;
  void began(PartitionedSend& send);
  /// The program has given partitions [first, end) to MPI_Pready: it must not write there any more.
  void ready(PartitionedSend& send, int first, int end);

  /// The next send carries packed data of this type.
  void seal_next_as(Count count, const Datatype& datatype) {
    next_count_ = count;
    next_type_ = &datatype;
  }

  std::unique_ptr<MessageNote> note_send(Count count, const Datatype& datatype, SendMode mode);
  std::unique_ptr<MessageNote> note_receive();
  /// The seal goes ahead of the message; false: no room.
  bool push_seal(SendRequest& send);

  void seal_arrived(const Packet& packet);
  /// The seal of the message that comes from there; null: it has none.
  std::unique_ptr<MessageSeal> take_seal(int endpoint, Context context);

  void arm(ReceiveRequest& receive);
  /// The receive and its message have met, and nothing of the message is in the buffer yet.
  void met(ReceiveRequest& receive, const MessageSeal* seal);

 private:
  PointToPoint& p2p_;
  Checks& checks_;
  std::vector<std::unique_ptr<MessageSeal>> arrived_;  // by endpoint: whose message is the next from there
  Count next_count_ = 0;
  const Datatype* next_type_ = nullptr;
};

}  // namespace tasuki

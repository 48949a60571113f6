// The choice of how a message travels: pure functions of the message and a table.
//
// It is made in two steps, each where what it needs is known. The sender chooses the protocol: at once, into
// an advertised receive, or by a request to send. The receiver of a request to send chooses the way that its
// bytes go.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/distance.hpp"
#include "base/types.hpp"
#include "base/variables/counters.hpp"
#include "protocol/packet.hpp"

namespace tasuki {

enum class Protocol : std::uint8_t {
  kShort,        // header and payload in one packet's head
  kEager,        // goes to the receiver at once
  kLong,         // waits for the receiver's answer
  kSenderWrite,  // written into a receive that the peer has advertised
};

/// What depends on how far apart the two ranks are.
struct DistanceTable {
  Count sender_write_bytes_min;  // receives from here on are advertised, and written to
  Count cooperative_bytes_min;   // gets from here on are shared with the sender
  Count claim_divisor;           // of a cooperative copy: a rank claims this part of what is left at once
  Count claim_bytes_min;
  Count claim_bytes_max;
};

/// By Distance. That of one cache is measured (docs/protocols.md). The others follow from it: what two ranks
/// gain by sharing a message are copies, which cost the same anywhere; what they pay are lines that travel
/// one after the other (the request, its claim, each piece's claim, the end), and a line takes about twice as
/// long between caches of a socket and four times as long between sockets. Above the longest eager message
/// an advertised receive always saves a round trip, so no threshold for it lies there.
inline constexpr std::array<DistanceTable, kDistances> kDistanceTables = {{
    {4 * 1024, 16 * 1024, 3, 16 * 1024, 256 * 1024},
    {8 * 1024, 32 * 1024, 3, 16 * 1024, 256 * 1024},
    {16 * 1024, 64 * 1024, 3, 32 * 1024, 256 * 1024},
}};

/// Where one way ends and the next begins, and which ways there are.
struct ProtocolTable {
  Count short_bytes_max = kShortBytesMax;
  Count eager_bytes_max = 16 * 1024;
  Count sender_write_bytes_min =
      kDistanceTables[0].sender_write_bytes_min;  // the least of all distances: a first test
  std::array<DistanceTable, kDistances> by_distance = kDistanceTables;
  Count first_claim_divisor = 2;  // of a sender write: the sender's first piece is this part
  bool advertised_receives = true;
  bool get = true;
  bool cooperative = true;
  bool put = true;

  /// REQUIRES: the ranks share memory.
  constexpr const DistanceTable& at(Distance distance) const {
    return by_distance[static_cast<std::size_t>(distance)];
  }

  /// What the user wants to hold for all distances; 0: nothing, the built-in values.
  constexpr void set_thresholds(Count write_min, Count cooperative_min) {
    by_distance = kDistanceTables;
    sender_write_bytes_min = INT64_MAX;
    for (DistanceTable& one : by_distance) {
      if (write_min != 0) one.sender_write_bytes_min = write_min;
      if (cooperative_min != 0) one.cooperative_bytes_min = cooperative_min;
      sender_write_bytes_min = std::min(sender_write_bytes_min, one.sender_write_bytes_min);
    }
  }
};

/// `acknowledged`: the sender has to know that the message was matched (synchronous mode). A short packet has
/// no room for the sender's request, so such a message is never short.
constexpr Protocol choose(Count bytes, bool acknowledged, const ProtocolTable& table) {
  if (bytes <= table.short_bytes_max && !acknowledged) return Protocol::kShort;
  return bytes <= table.eager_bytes_max ? Protocol::kEager : Protocol::kLong;
}

/// What decides between the ways of a message whose request to send has met its receive.
struct LongFacts {
  Count bytes = 0;   // to be copied
  bool far = false;  // on another node, or of another job: no memory is shared
  Distance distance = Distance::kCache;
  bool source_symmetric = false;       // the receiver can read it where it lies
  bool source_regular = false;         // it has a StridedBuffer, global or not
  bool source_dense = false;           // of one run
  bool destination_symmetric = false;  // the sender can write to it where it lies
  bool destination_regular = false;
  bool destination_dense = false;
  bool copy_lent = false;  // the sender has lent a CooperativeCopy
};

/// Why a long message goes as it does.
enum class Why : std::uint8_t {
  kBothSymmetric,         // both buffers can be addressed by both ranks
  kSourceSymmetric,       // the receiver can address the source, the sender not the destination
  kSmall,                 // too small to share
  kSwitchedOff,           // the better way is switched off
  kNoCopyLent,            // more such messages are open at once than there are words to lend
  kDestinationSymmetric,  // the sender can address the destination, the receiver not the source
  kIrregular,             // a type whose layout does not fit into a packet
  kBothPrivate,           // neither buffer can be addressed by the other rank
  kFar,                   // the ranks share no memory
};
const char* why_text(Why why);

/// Why the others go as they do.
inline constexpr const char* kSentAtOnce = "it is small enough to be sent at once";
inline constexpr const char* kAdvertised = "the receive was posted first, and its buffer is symmetric memory";
inline constexpr const char* kReceiverChose = "no receive was advertised for it, and so its receiver chose";

struct Choice {
  Way way;
  Why why;
};

constexpr Choice choose_long(const LongFacts& facts, const ProtocolTable& table) {
  if (facts.far) return {Way::kTwoCopy, Why::kFar};
  const bool receiver_can = facts.source_symmetric && (facts.destination_regular || facts.source_dense);
  const bool sender_can = facts.destination_symmetric && (facts.source_regular || facts.destination_dense);
  if (receiver_can && table.get) {
    if (!facts.destination_regular) return {Way::kGet, Why::kIrregular};
    if (!facts.destination_symmetric) return {Way::kGet, Why::kSourceSymmetric};
    if (facts.bytes < table.at(facts.distance).cooperative_bytes_min) return {Way::kGet, Why::kSmall};
    if (!table.cooperative) return {Way::kGet, Why::kSwitchedOff};
    if (!facts.copy_lent) return {Way::kGet, Why::kNoCopyLent};
    return {Way::kCooperative, Why::kBothSymmetric};
  }
  if (sender_can && table.put) {
    if (receiver_can) return {Way::kPut, Why::kSwitchedOff};
    return {Way::kPut, facts.source_symmetric ? Why::kIrregular : Why::kDestinationSymmetric};
  }
  if (receiver_can || sender_can) return {Way::kTwoCopy, Why::kSwitchedOff};
  if (facts.source_symmetric || facts.destination_symmetric) return {Way::kTwoCopy, Why::kIrregular};
  return {Way::kTwoCopy, Why::kBothPrivate};
}

}  // namespace tasuki

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
#include "base/distance_tables.hpp"
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

/// Where one way ends and the next begins, and which ways there are.
struct ProtocolTable {
  Count short_bytes_max = kShortBytesMax;
  Count eager_bytes_max = kEagerBytesMaxDefault;
  Count turn_bytes_max = kTurnBytesMaxDefault;  // the same where two ranks of a node take turns
  Count sender_write_bytes_min = kAboveEager;   // the least of all distances: a first test
  DistanceTables by_distance = kOtherTables;
  Count first_claim_divisor = 2;  // of a sender write: the sender's first piece is this part
  bool advertised_receives = true;
  bool get = true;
  bool cooperative = true;
  bool put = true;

  /// REQUIRES: the ranks share memory.
  constexpr const DistanceTable& at(Distance distance) const {
    return by_distance[static_cast<std::size_t>(distance)];
  }

  /// Takes the thresholds of `tables`, but those that the user sets for all distances; 0: nothing is set.
  constexpr void set_thresholds(const DistanceTables& tables, Count write_min, Count waiting_get_min,
                                Count cooperative_min, Count stream_min) {
    by_distance = tables;
    sender_write_bytes_min = INT64_MAX;
    for (DistanceTable& one : by_distance) {
      if (write_min != 0) one.sender_write_bytes_min = write_min;
      if (waiting_get_min != 0) one.waiting_get_bytes_min = waiting_get_min;
      if (cooperative_min != 0) one.cooperative_bytes_min = cooperative_min;
      if (stream_min != 0) one.stream_bytes_min = stream_min, one.streams_far_lines_only = false;
      sender_write_bytes_min = std::min(sender_write_bytes_min, one.sender_write_bytes_min);
    }
  }
};

/// `acknowledged`: the sender has to know that the message was matched (synchronous mode). A short packet has
/// no room for the sender's request, so such a message is never short. `is_turn`: the peer has answered since
/// the last message. Such a rank has just read what the peer sent, in cells that are in its caches and that
/// it sends with: so far more goes at once (docs/protocols.md).
constexpr Protocol choose(Count bytes, bool acknowledged, bool is_turn, const ProtocolTable& table) {
  if (bytes <= table.short_bytes_max && !acknowledged) return Protocol::kShort;
  const Count at_once_max = is_turn && !acknowledged ? table.turn_bytes_max : table.eager_bytes_max;
  return bytes <= at_once_max ? Protocol::kEager : Protocol::kLong;
}

/// How much of a message that goes through the ring is written at once: both ranks copy at the same time, the
/// one a piece behind the other, and a piece stays in the nearest caches. Chosen by measurement; the bare
/// loop is limit/copy/mode=cells of the suite (docs/mbl.md).
inline constexpr Count kPieceBytesMin = 4 * kKibi;
inline constexpr Count kPieceBytesMax = 16 * kKibi;
constexpr Count piece_bytes(Count bytes) {
  return std::clamp(bytes / 2, kPieceBytesMin, kPieceBytesMax);
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
  bool streamed = false;        // what the sender writes goes past its caches
  bool copy_lent = false;       // the sender has lent a CooperativeCopy
  bool network_copies = false;  // far: the network can copy between the buffers, and that pays
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
  kNetworkCopies,         // but the network copies between their buffers
};
const char* why_text(Why why);

/// Why the others go as they do.
inline constexpr const char* kSentAtOnce = "it is small enough to be sent at once";
inline constexpr const char* kSentInTurn =
    "the peer has answered, and the memory of its answer is used again";
inline constexpr const char* kAdvertised = "the receive was posted first, and its buffer is symmetric memory";
inline constexpr const char* kAdvertisedFar = "the receive was posted first, and the network copies";
inline constexpr const char* kReceiverLate = "its receiver was late, and it had been set aside";
inline constexpr const char* kReceiverChose = "no receive was advertised for it, and so its receiver chose";

struct Choice {
  Way way;
  Why why;
};

constexpr Choice choose_long(const LongFacts& facts, const ProtocolTable& table) {
  if (facts.far) {
    if (!facts.network_copies || !facts.destination_dense) return {Way::kTwoCopy, Why::kFar};
    if (facts.source_symmetric && table.get) return {Way::kGet, Why::kNetworkCopies};
    return table.put ? Choice{Way::kPut, Why::kNetworkCopies} : Choice{Way::kTwoCopy, Why::kSwitchedOff};
  }
  const bool receiver_can = facts.source_symmetric && (facts.destination_regular || facts.source_dense);
  const bool sender_can = facts.destination_symmetric && (facts.source_regular || facts.destination_dense);
  if (receiver_can && table.get) {
    if (!facts.destination_regular) return {Way::kGet, Why::kIrregular};
    if (!facts.destination_symmetric) return {Way::kGet, Why::kSourceSymmetric};
    if (!facts.streamed && facts.bytes < table.at(facts.distance).cooperative_bytes_min)
      return {Way::kGet, Why::kSmall};
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

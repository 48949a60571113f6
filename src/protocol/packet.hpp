// Packet headers: what stands at the head of every packet of point-to-point communication.
//
// How a message travels (protocol/choose.hpp; base/variables/ways.hpp has all ways):
//   short   one kShort packet, header and payload in the packet's head (Link::put)
//   eager   one kEager packet with the payload in its bulk; kEagerMore packets with the rest, when it is
//           larger than one bulk. They follow each other: between two endpoints no other message's kShort,
//           kEager, kEagerMore or kRequestToSend comes in between.
//   long    kRequestToSend, with the source's address and whether that is symmetric memory -> (matched) ->
//           one of
//             kGetBegins back: the receiver copies, and the sender may help; both see the end in a
//             CooperativeCopy.
//
//             kGetDone back: the receiver has copied; the send is over.
//
//             kClearToSend back with the destination's address: the sender copies, then kPutDone.
//
//             kClearToSend back without an address: kFragment packets, which may mix with anything.
//
//   sender write  kWriting: the sender has claimed the receive, which was advertised (pair_page.hpp), and
//           copies now; the receiver may help. Between nodes the receive was advertised by kAdvertise
//           (p2p/large/network_receives.cpp), and the network copies; kTakeBack asks for one back, and
//           kTakenBack answers where it was not claimed.
// The receiver answers an eager message with kAcknowledge where the sender wants to know that it was matched.
// A sender that waits for an answer asks by kWithdraw, when its request is cancelled, for the message to be
// dropped; the receiver drops it and answers kWithdrawn, or, if the message is matched, says nothing.
//
// With TASUKI_CHECK=2 a kSignature packet goes ahead of each message of the user's and says of which types it
// is: the next kEager or kRequestToSend in the plane of point-to-point messages is of that message.
//
// A partitioned message (p2p/partitioned/partitioned.hpp): kPartitionedOffer, then in every cycle
// kPartitionedStart back and kPartition packets, which may mix with anything.
//
// Requests are named by RequestId (index and generation in a pool of their owner), never by address: what a
// peer's memory says is checked before it is used.
//
// Invariants:
//  1. The first word of every head is a LeadWord, which tells the kind.
//  2. Headers are trivially copyable and lie at the start of the head, which is 8-byte aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/types.hpp"
#include "link/link.hpp"

namespace tasuki {

enum class PacketKind : std::uint32_t {
  kShort = 1,
  kEager,
  kEagerMore,
  kRequestToSend,
  kClearToSend,
  kFragment,
  kAcknowledge,
  kPartitionedOffer,
  kPartitionedStart,
  kPartition,
  kGetBegins,
  kGetDone,
  kPutDone,
  kWriting,
  kSignature,
  kAdvertise,
  kTakeBack,
  kTakenBack,
  kWithdraw,
  kWithdrawn,
};

/// Names a live request of its owner: index in the low half, generation in the high half. 0: none.
using RequestId = std::uint64_t;

/// Kind (bits 0-5), of a request to send one of PairPage::asides and 1 (6-9; 0: none), the sender's rank in
/// the communicator (10-31).
using LeadWord = std::uint32_t;
inline constexpr int kRanksMax = 1 << 22;

constexpr LeadWord lead_word(PacketKind kind, int source = 0) {
  return static_cast<LeadWord>(kind) | static_cast<LeadWord>(source) << 10;
}
constexpr PacketKind lead_kind(LeadWord word) {
  return static_cast<PacketKind>(word & 0x3f);
}
constexpr int lead_source(LeadWord word) {
  return static_cast<int>(word >> 10);
}
/// `aside` < 0: none.
constexpr LeadWord with_aside(LeadWord word, int aside) {
  return word | static_cast<LeadWord>(aside + 1) << 6;
}
constexpr int lead_aside(LeadWord word) {
  return static_cast<int>(word >> 6 & 0xf) - 1;
}

/// A whole message: its payload is the packet's data.
struct ShortHeader {
  LeadWord lead;
  std::int32_t tag;
  Context context;  // with the plane in its low bits
};

/// The start of an eager message: the bulk holds its first bytes. Also kWithdraw, which has no bulk.
struct EnvelopeHeader {
  LeadWord lead;
  std::int32_t tag;
  Context context;
  std::uint64_t bytes;  // of the whole message
  RequestId sender;     // to be acknowledged when matched, 0 if not
};

/// The offer of a partitioned message.
struct OfferHeader {
  LeadWord lead;
  std::int32_t tag;
  Context context;
  std::uint64_t bytes;
  RequestId sender;
  std::uint64_t types;  // a hash of its basic types; 0: unknown, or they match all types
  std::uint64_t basic;  // the type that all of it is of; 0: several
};

/// What is known of where the bytes of a long message lie in its sender's memory.
enum class SourceKind : std::uint8_t {
  kIrregular,  // no StridedBuffer can say it
  kGlobal,     // symmetric memory
  kPrivate,    // memory of the sender's own
  kNamed,  // memory of a rank on another node, dense: `address` and `stride` are the words of its MemoryKey
};

/// A long message: its envelope, and where its bytes lie in the sender's memory.
struct RequestToSendHeader {
  LeadWord lead;
  std::int32_t tag;
  Context context;
  std::uint64_t bytes;    // of the whole message
  RequestId sender;       // to be answered
  std::uint64_t address;  // with the next two a StridedBuffer of the source; 0: the receiver cannot use it
  std::int64_t stride;
  std::uint32_t block_bytes;
  std::uint16_t generation;  // of the copy
  std::uint8_t get;          // PairPage::gets, the copy's; kNoGet: the receiver copies alone
  SourceKind source_kind;
};
inline constexpr std::uint8_t kNoGet = 0xff;

/// kWriting: the message goes to a receive that was advertised.
struct WritingHeader {
  LeadWord lead;
  std::int32_t tag;
  RequestId receiver;   // between nodes the name in its AdvertiseHeader
  std::uint64_t bytes;  // of the whole message
  std::uint64_t
      address;  // with the next two a StridedBuffer of the source, in symmetric memory; 0: the sender copies
  std::int64_t stride;  // alone
  std::uint32_t block_bytes;
  std::uint32_t line;  // of PairPage::receives
};

/// The next bytes of the eager message that is on its way between the two endpoints.
struct EagerMoreHeader {
  LeadWord lead;
  std::uint32_t padding;
  std::uint64_t position;  // of the first byte of the bulk in the message
};

/// Answers: of a receiver kClearToSend, kGetBegins, kGetDone, kAcknowledge, kWithdrawn and kPartitionedStart;
/// of a sender kPutDone. kTakeBack and kTakenBack have the name of an advertised receive in `receiver`.
struct AnswerHeader {
  LeadWord lead = 0;
  std::uint32_t block_bytes = 0;  // of the StridedBuffer, see below
  RequestId sender = 0;           // kPutDone: none
  RequestId receiver = 0;         // kClearToSend: where fragments or kPutDone go; kPutDone: the receive
  std::uint64_t bytes_wanted =
      0;                      // kClearToSend, kGetBegins: fewer than the message has when it is truncated
  std::uint64_t address = 0;  // of the StridedBuffer of the destination; 0: private. On another node with
  std::int64_t stride = 0;    // `stride` the words of its MemoryKey
};

/// kAdvertise: a receive that the peer, a rank of another node, may have the network write to.
struct AdvertiseHeader {
  LeadWord lead;  // with, in place of a rank: the line that the receive takes (bits 0-3), and which of the
                  // receiver's lines are taken (4-19)
  std::int32_t tag;
  Context context;
  std::uint32_t name;       // of the receive; the network brings it with the last byte
  std::uint32_t processed;  // of the peer's messages: how many have been matched or kept
  std::uint64_t address;    // with the next two the MemoryKey of its buffer
  std::uint64_t access;
  std::uint64_t capacity;  // bytes
};

/// Another header that waits in the answers' queue.
template <class Header>
AnswerHeader as_answer(const Header& header) {
  static_assert(sizeof(Header) <= sizeof(AnswerHeader));
  AnswerHeader answer;
  std::memcpy(static_cast<void*>(&answer), &header, sizeof header);
  return answer;
}

/// A piece of a long message.
struct FragmentHeader {
  LeadWord lead;
  std::uint32_t padding;
  RequestId receiver;
  std::uint64_t position;  // of the first byte of the bulk in the message
};

/// kPartition: bytes of a partitioned message, in the bulk or written to where they go; or, where it has no
/// bytes, the names of partitions.
struct PartitionHeader {
  LeadWord lead;
  std::uint32_t partitions;  // of the sender, where partitions are named; else 0
  RequestId receiver;
  std::uint64_t position;  // of the first byte in the message, or the first partition
  std::uint64_t end;       // behind the last byte that was written, or the last partition; 0: of the bulk
};

static_assert(sizeof(PartitionHeader) == 32 && sizeof(RequestToSendHeader) == 56);
static_assert(sizeof(ShortHeader) == 16 && sizeof(EnvelopeHeader) == 32 && sizeof(EagerMoreHeader) == 16);
static_assert(sizeof(AnswerHeader) == 48 && sizeof(FragmentHeader) == 24 && sizeof(WritingHeader) == 48);
static_assert(sizeof(AdvertiseHeader) == sizeof(AnswerHeader));
static_assert(std::is_trivially_copyable_v<ShortHeader> && std::is_trivially_copyable_v<EnvelopeHeader>);
static_assert(sizeof(RequestToSendHeader) <= kHeadBytesMax);

static_assert(sizeof(ShortHeader) == sizeof(HeadWords));
inline constexpr std::size_t kShortBytesMax = kPutBytesMax;

/// A view of `head` as a header. `head` is 8-byte aligned.
template <class Header>
const Header& header_of(const Packet& packet) {
  return *reinterpret_cast<const Header*>(packet.head);
}

}  // namespace tasuki

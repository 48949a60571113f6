// PairPage: what two ranks of a node share for the large messages from one of them, the sender, to the other.
//
// On it the receiver advertises posted receives: where the sender may write a message's bytes at once. The
// sender claims one by a compare-and-swap of its state; the receiver takes one back in the same way when
// something else has matched the receive or it was cancelled. So exactly one of the two gets it. The words of
// cooperative copies lie there too: an advertised receive holds its own, a message that the receiver gets
// takes one of `gets`.
//
// Memory: one page of the node for each ordered pair (Node::pair_page), touched when it is first used,
// zero at first: nothing advertised, nothing processed.
//
// Invariants:
//  1. The sender claims a receive only while `processed` equals the number of messages that it has sent: then
//     the receiver has matched them all, and none of them takes the receive.
//  2. A receive is advertised only when every earlier open receive that could match the same message is, so
//     the sender, which takes the one with the lowest serial number that matches, keeps MPI's order. It
//     passes over those that are younger than its load of `open`: a receive may have been taken back since,
//     and a younger one have taken its line, while one between the two stands in a line that was not in use.
//  3. The receiver changes the fields of an advertised receive only while its state is kFree. What the sender
//     reads before it has claimed the receive counts only if the claim then succeeds: the state holds a
//     generation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "node/node.hpp"
#include "protocol/cooperative_copy.hpp"
#include "protocol/line_pace.hpp"

namespace tasuki {

inline constexpr int kAdvertisedReceives = 16;
inline constexpr std::uint32_t kAllLines = (1u << kAdvertisedReceives) - 1;  // a bit for each
inline constexpr int kGets = 32;
inline constexpr int kAsides = 8;  // so many messages may be set aside at once
inline constexpr std::uint32_t kAllAsides = (1u << kAsides) - 1;
/// In PairPage::open: the receiver waits in a call, so it would copy at once. A hint: the call may have ended
/// since; then the message waits for the receiver's next call, as any long one does.
inline constexpr std::uint32_t kWaitsBit = 1u << 31;
static_assert(kAdvertisedReceives < 31);

/// A receive that the sender may write to.
struct alignas(64) AdvertisedReceive {
  enum State : std::uint32_t { kFree = 0, kOpen = 1, kClaimed = 2 };

  std::atomic<std::uint32_t> state;  // generation * 4 + State; receiver: free to open (release), open to free
                                     // (CAS), claimed to free; sender: open to claimed (CAS, acq_rel)
  std::atomic<std::int32_t> tag;     // writer of this and all that follow: receiver; relaxed, under `state`
  std::atomic<std::uint64_t> context;
  std::atomic<std::uint64_t> address;      // of the buffer: with the next two a StridedBuffer
  std::atomic<std::int64_t> stride;        //
  std::atomic<std::uint32_t> block_bytes;  //
  std::atomic<std::uint32_t> serial;       // order of the receives; wraps around
  std::atomic<std::uint64_t> capacity;     // bytes
  std::atomic<std::uint64_t> receive;      // the receive's RequestId
  CooperativeCopy copy;                    // writers: both
};
static_assert(sizeof(AdvertisedReceive) == 64);

struct alignas(64) LentCopy {
  CooperativeCopy copy;  // owner: sender; writers: both
};

/// Whose a message is that its sender would rather not wait with (p2p/large/set_aside.cpp). Its writer is
/// the receiver, in whose caches it stays, unless the sender sets the message aside.
struct alignas(64) AsideMessage {
  std::atomic<std::uint32_t> state;  // even: nobody's. Receiver: two more, when the message has met its
                                     // receive. Sender: one more, when it has set the message aside (both by
                                     // CAS), and one more when that is over
  std::atomic<std::uint64_t> address;  // in the sender's symmetric memory; relaxed, under `state`
};

struct PairPage {
  // In one cache line, which the sender loads before each large message.
  alignas(64) std::atomic<std::uint64_t> processed;  // writer: receiver; messages of the sender that it has
                                                     // taken out of the FIFO and matched or kept; release
  // Low half: bit i: receives[i] is not free; kWaitsBit. High half: the serial number that the next one
  // to be advertised will get. One word, so that its reader knows of all receives that are older. Writer:
  // receiver; release.
  std::atomic<std::uint64_t> open;
  // How far lines travel from the sender to the receiver. Writer: receiver, when it finds out; relaxed.
  std::atomic<Lines> lines;
  AdvertisedReceive receives[kAdvertisedReceives];
  LentCopy gets[kGets];
  AsideMessage asides[kAsides];
  // Whether the sender waits in a call, and so takes part at once in what it copies together with the
  // receiver, in either direction. A hint. Writer: sender; relaxed.
  alignas(64) std::atomic<std::uint32_t> sender_waits;
  // A line that the receiver loads to see how long that takes, with no other data beside it that a processor
  // might fetch along with it. Writer: sender, another number each time; relaxed.
  alignas(128) std::atomic<std::uint32_t> sample;
  alignas(128) std::byte unused[128];
};
static_assert(sizeof(PairPage) <= kPairPageBytes);

}  // namespace tasuki

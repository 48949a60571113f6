// Frame: what stands before a packet on the network: whose it is, and that it belongs to this job.
//
// A packet lies in a buffer so that its bulk is aligned to 64 bytes and its head to 8, at the sender and at
// the receiver alike:
//
//     offset 40: Frame (32 bytes) | 72: head (56 bytes) | 128: bulk          a packet
//     offset 40: Frame (32 bytes) | 72: HeadWords (16) | 88: data            a small packet
//     offset 40: Frame (32 bytes)                                            a word between links
//
// Each packet has the secret of its job: 128 random bits that only its ranks know. Data travels as it is, for
// all to read who see it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "link/link.hpp"

namespace tasuki::ofi {

inline constexpr std::size_t kFrameAt = 40;
inline constexpr std::size_t kHeadAt = 72;
inline constexpr std::size_t kBulkAt = 128;
static_assert(kHeadAt + kHeadBytesMax == kBulkAt);

struct Secret {
  std::uint64_t words[2] = {};
  bool operator==(const Secret&) const = default;
};

enum class FrameKind : std::uint32_t {
  kPacket = 1,
  kSmall = 2,
  kBye = 3,       // the source sends nothing more and needs nothing more, for now or for good
  kByeHeard = 4,  // the answer
  kHello = 5,     // the first of all, so that the connection is there before a packet is taken
};

struct Frame {
  Secret secret;
  std::uint32_t source;    // the sender's rank
  std::uint32_t sequence;  // of the packets from it to the receiver, from 0 on
  FrameKind kind;
  std::uint32_t bytes;  // of bulk, or of the data of a small packet
};
static_assert(sizeof(Frame) == kHeadAt - kFrameAt);

/// What a packet of that kind takes on the network.
constexpr std::size_t span_of(FrameKind kind, std::uint32_t bytes) {
  switch (kind) {
    case FrameKind::kPacket:
      return sizeof(Frame) + kHeadBytesMax + bytes;
    case FrameKind::kSmall:
      return sizeof(Frame) + sizeof(HeadWords) + bytes;
    default:
      return sizeof(Frame);
  }
}

enum class Verdict : std::uint8_t {
  kGood,
  kStranger,  // not of this job
  kDamaged,   // of this job, and cannot be right
};

/// What `length` bytes that came are. `sources`: ranks of the job; `bulk_bytes_max`: of a packet.
inline Verdict judge(const Frame& frame, std::size_t length, const Secret& secret, int sources,
                     std::uint32_t bulk_bytes_max) {
  if (length < sizeof(Frame) || frame.secret != secret) return Verdict::kStranger;
  if (frame.source >= static_cast<std::uint32_t>(sources)) return Verdict::kDamaged;
  const std::uint32_t bytes_max = frame.kind == FrameKind::kPacket  ? bulk_bytes_max
                                  : frame.kind == FrameKind::kSmall ? kPutBytesMax
                                                                    : 0;
  const bool is_kind = frame.kind >= FrameKind::kPacket && frame.kind <= FrameKind::kHello;
  const bool fits = frame.bytes <= bytes_max && length == span_of(frame.kind, frame.bytes);
  return is_kind && fits ? Verdict::kGood : Verdict::kDamaged;
}

}  // namespace tasuki::ofi

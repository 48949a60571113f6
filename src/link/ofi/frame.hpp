// Frame: what stands before a packet on the network: whose it is, and that it belongs to this job, or comes
// from a process of another job that this one knows.
//
// A packet lies in a buffer so that its bulk is aligned to 64 bytes and its head to 8, at the sender and at
// the receiver alike:
//
//     offset 40: Frame (32 bytes) | 72: head (56 bytes) | 128: bulk          a packet
//     offset 40: Frame (32 bytes) | 72: HeadWords (16) | 88: data            a small packet
//     offset 40: Frame (32 bytes) | 72: entries                              a bundle of small packets
//     offset 40: Frame (32 bytes) | 72: what it says, or nothing             a word between links
//
// Each packet has a secret of 128 random bits. Between ranks of a job it is the job's. What goes to a process
// of another job has, first, that process's key, which stands in its address; with that word the sender says
// where it is reached itself, and a secret for these two, which all other packets have. Data travels as it
// is, for all to read who see it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "link/link.hpp"
#include "link/peer_address.hpp"

namespace tasuki::ofi {

inline constexpr std::size_t kFrameAt = 40;
inline constexpr std::size_t kHeadAt = 72;
inline constexpr std::size_t kBulkAt = 128;
static_assert(kHeadAt + kHeadBytesMax == kBulkAt);

struct Secret {
  std::uint64_t words[2] = {};
  auto operator<=>(const Secret&) const = default;
};

enum class FrameKind : std::uint32_t {
  kPacket = 1,
  kSmall = 2,
  kBye = 3,       // the source sends nothing more and needs nothing more, for now or for good
  kByeHeard = 4,  // the answer
  kHello = 5,     // the greeting of a rank of this job; said until the answer, or the other's greeting, comes
  kWelcome = 6,   // the answer to a greeting
  // Between processes of different jobs.
  kMeet = 7,       // MeetWords, with the receiver's key: their greeting
  kFinishing = 8,  // the source sends nothing more of its own accord
  kAskPort = 9,    // PortWords, `open` is 0: is it?
  kPort = 10,      // PortWords: the answer
  // Several small packets that followed one another: entries of BundleHead and data, each a multiple of 8.
  kBundle = 11,
  // Between ranks of a job.
  kWritten = 12,  // WrittenWords: a put before it is there (choice/copying.hpp)
  // Between any two that stand still (watch.hpp).
  kAsk = 13,   // CameWords: how many packets of the source have come?
  kTell = 14,  // CameWords: the answer, or, with the number 0, that one is missing
};

/// Before the data of each small packet of a bundle.
struct BundleHead {
  std::uint64_t bytes;  // of its data
  HeadWords head;
};
constexpr std::uint32_t entry_bytes(std::uint32_t data_bytes) {
  return static_cast<std::uint32_t>(sizeof(BundleHead)) + (data_bytes + 7) / 8 * 8;
}
/// Of a bundle: as many as fit into a small buffer (fabric.cpp).
inline constexpr std::uint32_t kBundleBytesMax = 2104;
/// Larger small packets go alone: there is little to save.
inline constexpr std::uint32_t kBundledBytesMax = 256;

struct MeetWords {
  PeerAddress from;
  Secret secret;  // of what these two send each other
};
struct PortWords {
  std::uint64_t number;
  std::uint64_t open;  // 1: it is
};
struct WrittenWords {
  std::uint64_t word;
};

/// What has come from the receiver of these words.
struct CameWords {
  std::uint64_t number;   // of the question
  std::uint32_t packets;  // that have come, all those before them, too
  std::uint32_t words;    // that are counted
};

struct Frame {
  Secret secret;
  std::uint32_t source;    // the sender's rank
  std::uint32_t sequence;  // of the packets from it to the receiver, from 0 on; a bundle counts as one
  FrameKind kind;
  std::uint32_t bytes;  // of bulk, of the data of a small packet, or of the entries of a bundle
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
      return sizeof(Frame) + bytes;
  }
}

/// Whether it has the connection made, and so goes before that is proved.
constexpr bool is_greeting(FrameKind kind) {
  return kind == FrameKind::kHello || kind == FrameKind::kMeet;
}

/// Whether it carries packets, which are numbered; else it is a word between links.
constexpr bool has_packets(FrameKind kind) {
  return kind == FrameKind::kPacket || kind == FrameKind::kSmall || kind == FrameKind::kBundle;
}

/// Whether a word is counted: nothing comes in its place where it is lost.
constexpr bool is_counted(FrameKind kind) {
  return kind == FrameKind::kWritten || kind == FrameKind::kFinishing || kind == FrameKind::kAskPort ||
         kind == FrameKind::kPort;
}

/// What a word between links says besides its kind.
constexpr std::uint32_t word_bytes(FrameKind kind) {
  if (kind == FrameKind::kMeet) return sizeof(MeetWords);
  if (kind == FrameKind::kWritten) return sizeof(WrittenWords);
  if (kind == FrameKind::kAsk || kind == FrameKind::kTell) return sizeof(CameWords);
  return kind == FrameKind::kAskPort || kind == FrameKind::kPort ? sizeof(PortWords) : 0;
}

/// Whether `length` bytes that came are a packet, or a word. `bulk_bytes_max`: of a packet.
inline bool is_whole(const Frame& frame, std::size_t length, std::uint32_t bulk_bytes_max) {
  if (frame.kind < FrameKind::kPacket || frame.kind > FrameKind::kTell) return false;
  if (frame.kind == FrameKind::kBundle)
    return frame.bytes <= kBundleBytesMax && length == span_of(frame.kind, frame.bytes);
  const bool is_word = !has_packets(frame.kind);
  const std::uint32_t bytes_max = frame.kind == FrameKind::kPacket ? bulk_bytes_max : kPutBytesMax;
  const bool fits = is_word ? frame.bytes == word_bytes(frame.kind) : frame.bytes <= bytes_max;
  return fits && length == span_of(frame.kind, frame.bytes);
}

}  // namespace tasuki::ofi

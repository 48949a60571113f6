// Watch: notices that packets to a peer were lost.
//
// A libfabric provider may lose packets without an error: those in the kernel when a connection is reset, and
// those sent while both ends connect at once. So a waiting rank asks each peer that has been idle for a
// second how many of its packets have arrived (kAsk, answered by kTell). The question itself opens a new
// connection if there is none. Each rank keeps copies of its last small packets to each peer and sends the
// missing ones again; the receiver drops duplicates.
//
// Pure data. Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "link/ofi/card.hpp"
#include "link/ofi/frame.hpp"

namespace tasuki::ofi {

struct Watch {
  std::uint64_t moved = 0;        // moves_of(peer) at the last look
  std::int64_t still_ns = 0;      // time since which it has not changed; 0: not looked at yet
  std::uint64_t asked = 0;        // number of the last question
  std::uint64_t answered = 0;     // number of the last question that was answered
  std::int64_t asked_ns = 0;      // time of the last question
  std::int64_t pause_ns = 0;      // from the last question to the next
  bool is_asking = false;         // a question is still queued in this process
  std::uint32_t come = 0;         // packets and words that had arrived by the last answer that lacked some
  std::int64_t lacking_ns = 0;    // time of the first question with that answer; 0: the peer lacks nothing
  std::uint32_t gap_at = 0;       // number of the next packet expected from the peer
  std::int64_t gap_ns = 0;        // time since which it has been missing, or of the last report of it
  std::uint32_t told_gap_at = 0;  // number of the packet that the peer reported missing
  std::int64_t told_gap_ns = 0;   // time of the first such report
  std::int64_t silent_ns = 0;     // time since which its host acknowledges nothing; 0: it acknowledges
  std::unique_ptr<Probe> probe;
  bool reached = false;                       // its host has accepted a probe since silent_ns
  std::uint32_t reached_retransmissions = 0;  // the socket's retransmissions at that time
  std::string trouble;                        // error of the last probe
};

/// Copies of the last small packets to a peer.
struct KeptPackets {
  static constexpr std::size_t kPackets = 8;
  static constexpr std::size_t kBytesMax = 256;
  struct Packet {
    std::uint32_t length = 0;  // 0: the place is empty
    std::byte bytes[kBytesMax];
  };
  Packet packets[kPackets];  // indexed by number modulo kPackets

  Packet& at(std::uint32_t number) { return packets[number % kPackets]; }
};

}  // namespace tasuki::ofi

// Watch: what a rank knows of a peer with which nothing moves: whether all that it has sent has come.
//
// A provider may lose packets without a word: those that it had handed to the system when the connection was
// reset, and those for which it made a new connection while the peer made one, too. So a rank that waits asks
// the peers with which it has stood still for a second how many of its packets have come (kAsk, kTell). Such
// a question makes the connection anew where there is none. Kept are the last small packets to each peer:
// those that have not come are sent again, and the peer drops what comes twice.
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
  std::uint64_t moved = 0;        // what had moved when this rank looked last
  std::int64_t still_ns = 0;      // when nothing more had; 0: it has not looked
  std::uint64_t asked = 0;        // the number of the last question
  std::uint64_t answered = 0;     // and of the last one that was answered
  std::int64_t asked_ns = 0;      // when it was asked
  std::int64_t pause_ns = 0;      // from it to the next one
  bool is_asking = false;         // a question has not left this process yet
  std::uint32_t come = 0;         // packets and counted words that the peer had when it lacked some
  std::int64_t lacking_ns = 0;    // when the first of the questions was asked by whose answers the peer lacks
                                  // what it lacks; 0: it lacks nothing
  std::uint32_t gap_at = 0;       // the packet of the peer's that comes next
  std::int64_t gap_ns = 0;        // since when, or when it was last told that later ones are here
  std::uint32_t told_gap_at = 0;  // the peer has said so of this packet to it
  std::int64_t told_gap_ns = 0;   // first
  std::int64_t silent_ns = 0;     // since when its system does not acknowledge; 0: it does
  std::unique_ptr<Probe> probe;
  bool reached = false;                       // its system has answered a probe since then
  std::uint32_t reached_retransmissions = 0;  // as many there were then
  std::string trouble;                        // what the last probe said
};

/// The last small packets to a peer, as they went.
struct KeptPackets {
  static constexpr std::size_t kPackets = 8;
  static constexpr std::size_t kBytesMax = 256;
  struct Packet {
    std::uint32_t length = 0;  // 0: there is none
    std::byte bytes[kBytesMax];
  };
  Packet packets[kPackets];  // by number modulo kPackets

  Packet& at(std::uint32_t number) { return packets[number % kPackets]; }
};

}  // namespace tasuki::ofi

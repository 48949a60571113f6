// The choice of how a message travels: a pure function of the message and a table.
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "protocol/packet.hpp"

namespace tasuki {

enum class Protocol : std::uint8_t {
  kShort,  // header and payload in one packet's head
  kEager,  // pushed to the receiver at once
  kLong,   // waits for the receiver's clear-to-send
};

/// Where one way ends and the next begins.
struct ProtocolTable {
  Count short_bytes_max = kShortBytesMax;
  Count eager_bytes_max = 16 * 1024;
};

/// `acknowledged`: the sender has to know that the message was matched (synchronous mode). A short packet has
/// no room for the sender's request, so such a message is never short.
constexpr Protocol choose(Count bytes, bool acknowledged, const ProtocolTable& table) {
  if (bytes <= table.short_bytes_max && !acknowledged) return Protocol::kShort;
  return bytes <= table.eager_bytes_max ? Protocol::kEager : Protocol::kLong;
}

}  // namespace tasuki

// Ways: how a message can travel, in one table. It names the counters (base/variables/counters.cpp), the
// lines of `mpiexec --stats` and what TASUKI_EXPLAIN says; protocol/choose.hpp decides which one a message
// takes.
//
// Pure data.
#pragma once

#include <cstdint>
#include <iterator>

namespace tasuki {

/// Both ends of a message count the same way, once it is known which one it went.
enum class Way : std::uint8_t {
  kShort,
  kEager,
  kGet,
  kCooperative,
  kSenderWrite,
  kPut,
  kTwoCopy,
};

struct WayRow {
  const char* name;          // as people and JSON read it
  const char* counter;       // in the names of counters: "sent_NAME_bytes"
  const char* how;           // "messages sent ...", in the descriptions of counters
  const char* explains;      // for TASUKI_EXPLAIN, where the ranks share memory
  const char* explains_far;  // and where they are on different nodes
  bool message_first;        // whether a message may come before its receive
};

/// By Way.
inline constexpr WayRow kWayTable[] = {
    {"short", "short", "in slots of the ring, or in one packet between nodes", "in slots of the ring",
     "in one packet", true},
    {"eager", "eager", "at once, through the ring or in packets between nodes, in two copies",
     "at once through the ring, two copies", "at once in packets, two copies", true},
    {"get", "get", "as a descriptor, and the receiver copied", "the receiver copies",
     "the receiver has the network copy", true},
    {"cooperative", "cooperative", "as a descriptor, and both copied", "both ranks copy", "both ranks copy",
     true},
    {"sender-write", "sender_write", "into the buffer that the receiver had advertised",
     "into the buffer of a receive that was advertised, both ranks copy",
     "into the buffer of a receive that was advertised, the network copies", false},
    {"put", "put", "as a descriptor, and the sender copied", "the sender copies",
     "the sender has the network copy", true},
    {"two-copy", "two_copy", "as a descriptor, then in fragments through the ring or between nodes",
     "in fragments through the ring", "in packets, as the receiver is ready", true},
};
inline constexpr int kWays = static_cast<int>(std::size(kWayTable));

constexpr const WayRow& row_of_way(Way way) {
  return kWayTable[static_cast<int>(way)];
}
constexpr const char* way_name(Way way) {
  return row_of_way(way).name;
}

}  // namespace tasuki

// From which size on which of two ranks copies a message that goes straight from buffer to buffer: a row for
// each distance of the ranks (base/distance.hpp) and each maker of processors.
//
// What decides are cache lines that travel between the two ranks' caches, with data that programs use: the
// sender has written them before, the receiver reads them after. Where the sender writes, the lines of the
// destination come to it and travel back; where the receiver gets, they travel once, but the source's lines
// travel back when it is next written. Which costs more depends on the processor. docs/protocols.md has the
// measurements; `tasuki tune` measures the machine at hand, and its table replaces the row.
//
// Pure data.
#pragma once

#include <array>
#include <cstdint>

#include "base/distance.hpp"
#include "base/system/processor_maker.hpp"
#include "base/types.hpp"
#include "base/variables/config.hpp"

namespace tasuki {

struct DistanceTable {
  Count sender_write_bytes_min;  // receives from here on are advertised, and written to
  Count waiting_get_bytes_min;   // a receiver that waits for them gets messages from here on itself
  Count cooperative_bytes_min;   // from here on both ranks copy
  Count stream_bytes_min;        // what is written for the other rank goes past the caches from here on
  bool streams_far_lines_only;   // and only while lines between the two are found to travel far
};
using DistanceTables = std::array<DistanceTable, kDistances>;

inline constexpr Count kKibi = 1024;
/// Just above the longest message that is sent at once, unless the user says otherwise. From here on an
/// advertised receive always saves a round trip, so no threshold for it lies above.
inline constexpr Count kAboveEager = kEagerBytesMaxDefault + 1;
inline constexpr Count kNeverStreamed = INT64_MAX;

/// The rows of ranks that share a cache are measured on Xeons of the Sapphire Rapids generation and on EPYCs.
/// The others follow from them: what two ranks gain by sharing a copy costs the same anywhere, while the
/// lines that travel one after the other (the request, each claim, the end) take about twice as long between
/// caches of a socket, and four times as long between sockets.
inline constexpr DistanceTables kIntelTables = {{
    {kAboveEager, kAboveEager, kAboveEager, kNeverStreamed, false},
    {kAboveEager, kAboveEager, 32 * kKibi, kNeverStreamed, false},
    {kAboveEager, kAboveEager, 64 * kKibi, kNeverStreamed, false},
}};
/// Ranks whose processors share a cache, as the machine says, may have none in common where it is a virtual
/// one. What is streamed then takes a quarter of the time, and where they have one up to twice as long.
inline constexpr DistanceTables kAmdTables = {{
    {4 * kKibi, 8 * kKibi, 512 * kKibi, 16 * kKibi, true},
    {8 * kKibi, 16 * kKibi, 512 * kKibi, 16 * kKibi, false},
    {kAboveEager, kAboveEager, 512 * kKibi, kAboveEager, false},
}};
/// Not measured: fewest lines that travel.
inline constexpr DistanceTables kOtherTables = {{
    {kAboveEager, kAboveEager, 512 * kKibi, kNeverStreamed, false},
    {kAboveEager, kAboveEager, 512 * kKibi, kNeverStreamed, false},
    {kAboveEager, kAboveEager, 512 * kKibi, kNeverStreamed, false},
}};

constexpr const DistanceTables& distance_tables(ProcessorMaker maker) {
  switch (maker) {
    case ProcessorMaker::kIntel:
      return kIntelTables;
    case ProcessorMaker::kAmd:
      return kAmdTables;
    case ProcessorMaker::kOther:
      break;
  }
  return kOtherTables;
}

}  // namespace tasuki

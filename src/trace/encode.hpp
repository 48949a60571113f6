// Encodes what the recorder collected as the payload of a DATA block (docs/trace.md): definitions,
// then one column after the other. A column whose values are all alike is that value; any other is a stream
// of varints. A block needs nothing of the blocks before it, and a reader can take a column of a whole trace
// at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/record.hpp"

namespace tasuki::trace {

/// Turns ticks into nanoseconds: a straight line through two readings of both clocks.
struct TickLine {
  std::int64_t ticks = 0;
  std::int64_t ns = 0;
  double ns_per_tick = 1;

  std::int64_t ns_of(std::int64_t at) const {
    return ns + static_cast<std::int64_t>(static_cast<double>(at - ticks) * ns_per_tick);
  }
  std::int64_t span_ns(std::int64_t span) const {
    return static_cast<std::int64_t>(static_cast<double>(span) * ns_per_tick);
  }
};

/// Numbers of requests are written relative to the number of requests that were made before the call.
struct Calls {
  const std::vector<Record>& records;
  const std::vector<Done>& done;                // of all records, one after the other
  const std::vector<std::int64_t>& started;     // the serials of the persistent requests of kStarts
  const std::vector<std::string>& definitions;  // since the last block
  std::int64_t requests_before = 0;             // made before the first record
  std::uint64_t own_records = 0;                // of the records: of the recorder itself, no calls
};

void append_varint(std::string* text, std::uint64_t value);

inline std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

/// The payload of a DATA block.
std::string encode(const Calls& calls, const TickLine& line);

/// The checksum in a block's head: the sum of its words, each times an odd number of its own, modulo 2^64.
std::uint64_t checksum(const char* bytes, std::size_t size);

/// The head of a block ("HEAD", "DATA", "END ") and its payload.
std::string block(const char kind[4], const std::string& payload);

inline constexpr char kMagic[9] = "TSKTRACE";
inline constexpr std::uint32_t kVersion = 2;

/// What every trace begins with.
std::string file_head();

}  // namespace tasuki::trace

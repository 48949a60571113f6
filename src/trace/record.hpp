// What the trace remembers of one call, before it is encoded (encode.hpp) and written (recorder.hpp). Plain
// data; docs/trace.md describes the columns that it becomes.
#pragma once

#include <cstdint>

namespace tasuki::trace {

// Peers that are no rank of MPI_COMM_WORLD.
inline constexpr std::int32_t kNobody = -1;
inline constexpr std::int32_t kAnySource = -2;
inline constexpr std::int32_t kNullProcess = -3;
inline constexpr std::int32_t kOtherWorld = -4;

inline constexpr std::uint32_t kFailed = 1;       // the call returned an error
inline constexpr std::uint32_t kWildcard = 2;     // it named MPI_ANY_SOURCE; `source` is the sender
inline constexpr std::uint32_t kPersistent = 4;   // what it made is not started yet
inline constexpr std::uint32_t kStarts = 8;       // what it made are operations of persistent requests
inline constexpr std::uint32_t kUnanswered = 16;  // a test or a probe that found nothing
inline constexpr std::uint32_t kScattered = 32;   // its datatype has holes

struct Record {
  std::int64_t begin = 0;  // ticks (clock.hpp)
  std::int64_t end = 0;
  std::int64_t outside = 0;  // ticks between its calls, where `repeats` says that they are several
  std::int64_t sent = 0;     // bytes
  std::int64_t received = 0;
  std::int64_t block = 0;  // the size by which benchmarks know this operation; of several the largest
  std::int32_t peer = kNobody;
  std::int32_t source = kNobody;  // of what it receives
  std::int32_t tag = 0;
  std::uint32_t group = 0;  // number of the communicator, window or file, from 1; 0: none
  std::uint32_t phase = 0;
  std::uint32_t thread = 0;
  std::uint32_t repeats = 0;  // further calls of the same kind that found nothing
  std::uint32_t flags = 0;
  std::uint32_t made = 0;       // how many requests it made or started
  std::uint32_t done = 0;       // how many requests it completed
  std::uint32_t site = 0;       // number of the place in the program, from 1; 0: not known
  std::uint32_t queue = 0;      // messages that had come without a receive, after it
  std::uint32_t way = 0;        // of a message (LibraryFacts); 0: not known
  std::uint32_t algorithm = 0;  // of a collective; 0: not known
  std::uint32_t runner_up = 0;
  std::int64_t predicted_ns = 0;  // by the library's model; 0: no algorithm was chosen by it
  std::int64_t runner_up_ns = 0;
  std::uint16_t function = 0;
};

/// A request that a call completed, and the contents of its status where it is a receive.
struct Done {
  std::int64_t serial = 0;
  std::int32_t source = kNobody;
  std::int64_t bytes = -1;  // -1: nothing is known
};

}  // namespace tasuki::trace

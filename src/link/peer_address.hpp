// How a process is named, and where it is reached, beyond the job that it belongs to.
//
// Endpoint numbers mean something only inside one process. What travels between processes of different jobs
// is a ProcessName, which is the same everywhere, or a PeerAddress, by which a process that was never heard
// of can be sent to.
#pragma once

#include <compare>
#include <cstdint>
#include <type_traits>

#include "memory/shared_segment.hpp"

namespace tasuki {

/// One process, among all jobs: the random number of its job, and its rank there.
struct ProcessName {
  std::uint64_t job = 0;
  std::int32_t rank = 0;
  std::int32_t padding = 0;  // 0, so that names can be compared as bytes

  auto operator<=>(const ProcessName&) const = default;
};

struct PeerAddress {
  ProcessName name;
  SegmentAddress mailbox;
};
static_assert(std::is_trivially_copyable_v<PeerAddress> && sizeof(PeerAddress) == 40);

}  // namespace tasuki

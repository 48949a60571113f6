// By how much rank 0's CLOCK_MONOTONIC is ahead of this process's: 0 on one machine, where all read the same
// clock; on several measured by ping-pongs with rank 0 in MPI_Init, to half the time of the shortest.
#pragma once

#include <cstdint>

namespace tasuki::trace::TASUKI_TRACE_ABI {

struct ClockOffset {
  std::int64_t ns = 0;
  std::int64_t error_ns = 0;  // by how much it may be wrong
};

/// Collective over MPI_COMM_WORLD, by the library's own functions.
ClockOffset clock_offset(int rank, int size);

}  // namespace tasuki::trace::TASUKI_TRACE_ABI

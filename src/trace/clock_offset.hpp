// By how much rank 0's CLOCK_MONOTONIC is ahead of this process's: 0 on one machine, where all read the same
// clock; on several measured by ping-pongs with rank 0 in MPI_Init, to half the time of the shortest.
#pragma once

#include <cstdint>

namespace tasuki::trace::TASUKI_TRACE_ABI {

/// Collective over MPI_COMM_WORLD, by the library's own functions.
std::int64_t clock_offset(int rank, int size);

}  // namespace tasuki::trace::TASUKI_TRACE_ABI

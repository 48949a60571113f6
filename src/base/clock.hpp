// The library's clock: that of MPI_Wtime, of timers, and of the time stamps of events.
#pragma once

#include <time.h>

#include <cstdint>

namespace tasuki {

/// Nanoseconds since some moment in the past; never goes back.
inline std::int64_t clock_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace tasuki

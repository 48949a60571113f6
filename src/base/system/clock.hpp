// The library's clock: that of MPI_Wtime, of timers, and of the time stamps of events; and the Clock that a
// rank's waits and links are given, so that ranks can live in another time: a script's, a simulator's.
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

/// Thread safety: now_ns() may be called from all threads of a rank.
class Clock {
 public:
  virtual std::int64_t now_ns() const = 0;

 protected:
  constexpr ~Clock() = default;
};

class RealClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return clock_ns(); }
};

inline const Clock& real_clock() {
  static constexpr RealClock kClock;
  return kClock;
}

}  // namespace tasuki

// How the clocks of two hosts differ, by frames that go to the other host and back: each trip gives the other
// clock's time at some moment between two of the own, so half of its length is the error. Pure.
#pragma once

#include <cstdint>

namespace tasuki::launch {

/// What the own clock showed at some moment, what the other one showed more at it, and by how much that may
/// be wrong. Nanoseconds of CLOCK_MONOTONIC.
struct ClockReading {
  std::int64_t at_ns = 0;
  std::int64_t ahead_ns = 0;
  std::int64_t error_ns = -1;  // below 0: there is no reading

  bool known() const { return error_ns >= 0; }
};

/// The clock of a host when the job began and when it ended, against mpiexec's. The second one is unknown
/// where the host was lost.
struct HostClock {
  ClockReading begin;
  ClockReading end;
};

/// Trips one after the other, of which the shortest counts.
class ClockTrips {
 public:
  static constexpr int kTrips = 16;

  void add(std::int64_t sent_ns, std::int64_t theirs_ns, std::int64_t received_ns) {
    ++trips_;
    const std::int64_t error_ns = (received_ns - sent_ns + 1) / 2;
    if (received_ns < sent_ns || (best_.known() && error_ns >= best_.error_ns)) return;
    const std::int64_t at_ns = sent_ns + (received_ns - sent_ns) / 2;
    best_ = {at_ns, theirs_ns - at_ns, error_ns};
  }
  bool over() const { return trips_ >= kTrips; }
  const ClockReading& best() const { return best_; }

 private:
  int trips_ = 0;
  ClockReading best_;
};

}  // namespace tasuki::launch

// Random numbers that are unique for all purposes: they name jobs, segments, ports and sockets.
#pragma once

#include <sys/random.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>

namespace tasuki {

/// 64 random bits; from the clock and the process number where the kernel has none yet. It never waits.
inline std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof number)) return number;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'007U ^ static_cast<std::uint64_t>(now.tv_nsec) ^
         static_cast<std::uint64_t>(getpid()) << 40;
}

}  // namespace tasuki

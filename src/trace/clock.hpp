// The clock of the trace: the processor's cycle counter where that runs at a constant rate, else
// CLOCK_MONOTONIC. Reading the counter takes half the time. The recorder turns ticks into nanoseconds of
// CLOCK_MONOTONIC, which all processes of a machine share, by readings of both clocks before and after.
#pragma once

#include <time.h>

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace tasuki::trace {

inline std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

/// Whether the counter runs at one rate whatever the processor does, on all of them.
inline bool has_even_counter() {
#if defined(__x86_64__)
  unsigned int a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
#elif defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

inline std::int64_t read_counter() {
#if defined(__x86_64__)
  return static_cast<std::int64_t>(__rdtsc());
#elif defined(__aarch64__)
  std::int64_t count;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return monotonic_ns();
#endif
}

}  // namespace tasuki::trace

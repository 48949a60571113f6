// Hints to the processor, which change nothing but the time that something takes.
#pragma once

namespace tasuki {

/// Call it in a loop that waits for memory to change.
inline void relax_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// The cache line at `address` will be written soon.
inline void prefetch_to_write(const void* address) {
#if defined(__x86_64__)
  asm volatile("prefetchw (%0)"
               :
               : "r"(address));  // without -mprfchw, the builtin would prefetch for reading
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace tasuki

// relax_processor: tells the processor that this is a loop that waits for memory to change.
#pragma once

namespace tasuki {

inline void relax_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace tasuki

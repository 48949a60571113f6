// A clock by which cache lines take as long to travel as the test says, and the ranks that look at it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/system/clock.hpp"
#include "support/world.hpp"

namespace tasuki::test {

inline constexpr std::int64_t kNearNs = 20, kFarNs = 110;

/// Each look at it takes a moment more than the one before, by how long a line is to take.
class LookedAtClock final : public Clock {
 public:
  std::int64_t now_ns() const override {
    thread_local std::int64_t last_ns = 0, step_ns = 0;
    step_ns += line_ns.load(std::memory_order_relaxed);
    return last_ns += step_ns;
  }
  std::atomic<std::int64_t> line_ns = kNearNs;
};

inline WorldOptions options_of(const Clock& clock, ProcessorMaker maker) {
  WorldOptions options;
  options.clock = &clock;
  options.config = {.distance = 1 + static_cast<int>(Distance::kCache),
                    .processor = processor_item(maker),
                    .ring_bytes = 16 * 1024};
  return options;
}

}  // namespace tasuki::test

// ScriptedTime: a Clock and a Waiter in which no real time passes: sleeping moves the clock on, and so does
// every offer of the processor.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/system/clock.hpp"
#include "link/waiter.hpp"

namespace tasuki::test {

class ScriptedTime final : public Clock, public Waiter {
 public:
  std::int64_t now_ns() const override { return now_ns_; }

  void offer_processor() override { now_ns_ += kOfferNs; }
  std::uint32_t arm() override { return rings_; }
  bool sleep(std::uint32_t ticket, std::int64_t timeout_ns) override {
    if (rings_ != ticket) return true;
    ++sleeps;
    now_ns_ += timeout_ns;
    return false;
  }
  void disarm() override {}
  void ring() override { ++rings_; }

  std::atomic<int> sleeps = 0;

 private:
  static constexpr std::int64_t kOfferNs = 1'000;
  std::atomic<std::int64_t> now_ns_ = 1;
  std::atomic<std::uint32_t> rings_ = 0;
};

}  // namespace tasuki::test

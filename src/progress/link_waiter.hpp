// LinkWaiter: the usual Waiter. A rank sleeps in its link, which the peers wake when they send.
//
// Between hosts a poll is a system call, and so is an offer of the processor: where nobody takes it, only one
// of several is made. Where other ranks take it, all are. A process that computes keeps it for milliseconds,
// while an answer from another host takes microseconds: after such an offer the rank makes none for a while,
// for longer each time, and has its fair share of the processor like that process.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/system/clock.hpp"
#include "link/link.hpp"
#include "link/waiter.hpp"

namespace tasuki {

class LinkWaiter final : public Waiter {
 public:
  /// `clock`: has the rank offer its processor less often, where nobody wants it; null: it does so always.
  explicit LinkWaiter(Link& link, const Clock* clock = nullptr) : link_(&link), clock_(clock) {}
  void offer_processor() override {
    if (clock_ == nullptr) {
      sched_yield();
      return;
    }
    const int left = offers_left_out_.load(std::memory_order_relaxed);
    if (left > 0) {
      offers_left_out_.store(left - 1, std::memory_order_relaxed);
      return;
    }
    const std::int64_t begin_ns = clock_->now_ns();
    sched_yield();
    const std::int64_t taken_ns = clock_->now_ns() - begin_ns;
    const int before = pause_.load(std::memory_order_relaxed);
    const int pause = taken_ns < kLongNs ? std::max(before / 2, kPauseMin) : std::min(4 * before, kPauseMax);
    pause_.store(pause, std::memory_order_relaxed);
    const int left_out = taken_ns < kTakenNs ? kLeftOut : taken_ns < kLongNs ? 0 : pause;
    offers_left_out_.store(left_out, std::memory_order_relaxed);
  }
  std::uint32_t arm() override { return link_->arm(); }
  bool sleep(std::uint32_t ticket, std::int64_t timeout_ns) override {
    return link_->sleep(ticket, timeout_ns);
  }
  void disarm() override { link_->disarm(); }
  void ring() override { link_->ring(); }
  void use(Link& link) override { link_ = &link; }

 private:
  static constexpr int kLeftOut = 7;                  // of so many and one more
  static constexpr std::int64_t kTakenNs = 3'000;     // what an offer takes that another process takes
  static constexpr std::int64_t kLongNs = 1'000'000;  // and one that a process takes that does not wait, too
  static constexpr int kPauseMin = 1 << 9, kPauseMax = 1 << 16;  // polls without an offer after that

  Link* link_;
  const Clock* const clock_;
  // Relaxed: threads may offer at the same time.
  std::atomic<int> offers_left_out_{0};  // from now on
  std::atomic<int> pause_{kPauseMin};
};

}  // namespace tasuki

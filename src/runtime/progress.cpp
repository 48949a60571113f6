// Progress: the sweep over the hooks, and how a wait goes from spinning to sleeping.
#include "runtime/progress.hpp"

#include <sched.h>

#include <algorithm>

#include "transport/transport.hpp"

namespace tasuki {
namespace {

constexpr std::uint32_t kYields = 8;  // looks with the processor offered to others, before sleeping
constexpr std::int64_t kSleepNanosecondsMax = 50'000'000;  // a backstop: every event rings

void relax_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Progress::Progress(Transport& transport, std::mutex& mutex, int spin_count)
    : transport_(transport), mutex_(mutex), spin_count_(static_cast<std::uint32_t>(spin_count)) {}

void Progress::add(ProgressHook* hook) {
  hooks_.push_back(hook);
}

void Progress::remove(ProgressHook* hook) {
  const auto found = std::find(hooks_.begin(), hooks_.end(), hook);
  if (found == hooks_.end()) return;
  const auto index = static_cast<std::size_t>(found - hooks_.begin());
  hooks_.erase(found);
  if (index < next_hook_) --next_hook_;
}

bool Progress::poll() {
  if (polling_) return false;
  polling_ = true;
  bool moved = false;
  for (next_hook_ = 0; next_hook_ < hooks_.size();) {
    ProgressHook* hook = hooks_[next_hook_++];
    moved |= hook->poll();
  }
  polling_ = false;
  if (moved) wake();  // what they wait for may have come
  return moved;
}

void Progress::wake() {
  if (sleepers_ != 0) transport_.ring();
}

bool Progress::look() {
  if (poll()) {
    idle_looks_ = 0;
    return true;
  }
  if (++idle_looks_ > spin_count_) {
    idle_looks_ = 0;
    if (locking_) mutex_.unlock();
    sched_yield();
    if (locking_) mutex_.lock();
  }
  return false;
}

void Progress::pause(Waiter& waiter) {
  ++waiter.idle_polls;
  if (waiter.idle_polls <= spin_count_) {
    relax_processor();
    if (locking_ && waiter.idle_polls % 16 == 0) {
      mutex_.unlock();
      sched_yield();
      mutex_.lock();
    }
    return;
  }
  if (waiter.idle_polls <= spin_count_ + kYields) {
    if (locking_) mutex_.unlock();
    sched_yield();
    if (locking_) mutex_.lock();
    return;
  }
  sleep();
}

void Progress::sleep() {
  const std::uint32_t ticket = transport_.arm();
  if (!poll()) {
    ++sleepers_;
    if (locking_) mutex_.unlock();
    transport_.sleep(ticket, kSleepNanosecondsMax);
    if (locking_) mutex_.lock();
    --sleepers_;
  }
  transport_.disarm();
}

}  // namespace tasuki

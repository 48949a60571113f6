// SharedLock: the wait for a holder.
#include "base/system/shared_lock.hpp"

#include <sched.h>

#include <ctime>

#include "base/system/clock.hpp"
#include "base/system/processor_hints.hpp"

namespace tasuki {
namespace {

constexpr std::int64_t kAskNs = 50'000'000;  // whether the holder lives

/// The pauses between two looks at a word that somebody holds.
class HolderWait {
 public:
  HolderWait(const std::atomic<std::uint32_t>& word, const LockUser& user) : word_(word), user_(user) {}

  /// `found` is what the word was.
  void pause(std::uint32_t found) {
    constexpr int kLooks = 100;  // the holder is about to be done, if it runs
    constexpr int kYields = 50;
    constexpr int kShortNaps = 100;
    if (found != 0 && user_.holder(found) == LockUser::kNone) [[unlikely]]
      user_.end_damaged("the holder of a lock", found);
    ++turn_;
    if (turn_ <= kLooks) return relax_processor();
    if (turn_ <= kLooks + kYields) return static_cast<void>(sched_yield());
    const timespec nap{0, turn_ <= kLooks + kYields + kShortNaps ? 20'000 : 1'000'000};
    nanosleep(&nap, nullptr);
    ask_about(found);
  }

 private:
  /// The holder may have given the lock back and ended since the look at the word.
  void ask_about(std::uint32_t holder) {
    const std::int64_t now_ns = clock_ns();
    if (asked_ns_ == 0) asked_ns_ = now_ns;
    if (now_ns - asked_ns_ < kAskNs || holder == 0 || holder == user_.word()) return;
    asked_ns_ = now_ns;
    const int number = user_.holder(holder);
    if (user_.has_died(number) && word_.load(std::memory_order_acquire) == holder) user_.end_dead(number);
  }

  const std::atomic<std::uint32_t>& word_;
  const LockUser& user_;
  int turn_ = 0;
  std::int64_t asked_ns_ = 0;
};

}  // namespace

void SharedLock::lock_contended(const LockUser& user) {
  for (HolderWait wait(word_, user);;) {
    std::uint32_t found = word_.load(std::memory_order_relaxed);
    if (found == 0 &&
        word_.compare_exchange_weak(found, user.word(), std::memory_order_acquire, std::memory_order_relaxed))
      return;
    wait.pause(found);
  }
}

void SharedLock::wait_until_free(const LockUser& user) const {
  HolderWait wait(word_, user);
  for (std::uint32_t found = 0; (found = word_.load(std::memory_order_acquire)) != 0;) wait.pause(found);
}

}  // namespace tasuki

// The helper thread.
#include "link/ofi/flusher.hpp"

#include <pthread.h>
#include <signal.h>

#include <chrono>

namespace tasuki::ofi {
namespace {

constexpr std::chrono::milliseconds kTick{1};
constexpr int kIdleTicksMax = 20;  // until the helper sleeps

}  // namespace

Flusher::~Flusher() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  if (has_helper_) pthread_join(helper_, nullptr);
}

bool Flusher::begin_to_watch() {
  if (impossible_) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  watching_.store(true, std::memory_order_relaxed);
  if (has_helper_) {
    changed_.notify_one();
    return true;
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto begin = [](void* flusher) -> void* {
    static_cast<Flusher*>(flusher)->help();
    return nullptr;
  };
  has_helper_ = pthread_create(&helper_, nullptr, begin, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  impossible_ = !has_helper_;
  if (impossible_) watching_.store(false, std::memory_order_relaxed);
  return has_helper_;
}

/// What began to wait while the helper was about to stop watching it finds in its last look: the rank sees
/// `watching_` and waits no longer than until then.
void Flusher::help() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ending_) {
    changed_.wait(lock, [this] { return ending_ || watching_.load(std::memory_order_relaxed); });
    for (int idle = 0; !ending_ && idle < kIdleTicksMax; ++idle) {
      changed_.wait_for(lock, kTick, [this] { return ending_; });
      lock.unlock();
      if (flush_()) idle = 0;
      lock.lock();
    }
    watching_.store(false, std::memory_order_relaxed);
    lock.unlock();
    flush_();
    lock.lock();
  }
}

}  // namespace tasuki::ofi

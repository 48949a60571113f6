// The helper thread.
#include "link/ofi/flusher.hpp"

#include <pthread.h>
#include <signal.h>

#include <chrono>

namespace tasuki::ofi {
namespace {

constexpr std::chrono::milliseconds kTick{1};
constexpr int kIdleTicksMax = 20;  // until the helper ends

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
  if (has_helper_) pthread_join(helper_, nullptr);  // it has left the gate for the last time
  watching_ = true;
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
  watching_ = has_helper_;
  return has_helper_;
}

void Flusher::help() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (int idle = 0; !ending_;) {
    changed_.wait_for(lock, kTick, [this] { return ending_; });
    lock.unlock();
    gate_.take();
    idle = flush_() ? 0 : idle + 1;
    const bool over = idle == kIdleTicksMax;
    if (over) watching_ = false;
    gate_.give_back();
    if (over) return;
    lock.lock();
  }
}

}  // namespace tasuki::ofi

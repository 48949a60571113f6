// Flusher: sees to it that small packets which wait to be sent together do not wait for long where their rank
// does not call MPI.
//
// A rank that sends many small packets in a row has them wait for one another, and sends them when it polls.
// It may compute instead. So there is a helper thread, made when packets wait: it looks once in a millisecond
// whether any do, and sends those. When none have for some time it ends: in a process of one thread each call
// of the system that names a descriptor is shorter, by 0.1 us of a message to another host and its answer.
//
// Gate: the link is used by the rank, under its process lock, or by the helper, and never by both at once.
//
// Thread safety: watch() and the gate's enter() and leave() are for the rank, watch() inside the gate.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

namespace tasuki::ofi {

class Gate {
 public:
  /// Of the rank, whose calls may nest.
  void enter() {
    if (depth_++ == 0) take();
  }
  void leave() {
    if (--depth_ == 0) give_back();
  }
  /// Of the helper.
  void take() {
    while (taken_.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  void give_back() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};  // acquire, release
  int depth_ = 0;                   // of the rank's calls; guarded by its process lock
};

/// The rank is in the link for as long as this lives.
class Inside {
 public:
  explicit Inside(Gate& gate) : gate_(gate) { gate_.enter(); }
  ~Inside() { gate_.leave(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Gate& gate_;
};

class Flusher {
 public:
  /// `flush` is called inside the gate; it sends what waits, and returns whether anything has waited since it
  /// was called last.
  Flusher(Gate& gate, std::function<bool()> flush) : gate_(gate), flush_(std::move(flush)) {}
  ~Flusher();
  Flusher(const Flusher&) = delete;
  Flusher& operator=(const Flusher&) = delete;

  /// Something waits from now on. Returns false where there can be no helper.
  bool watch() { return watching_ || begin_to_watch(); }

 private:
  [[gnu::cold]] bool begin_to_watch();
  void help();

  Gate& gate_;
  const std::function<bool()> flush_;
  bool watching_ = false;  // the helper will look again; guarded by the gate
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;      // guarded by mutex_
  bool impossible_ = false;  // the system has no more threads
  bool has_helper_ = false;
  pthread_t helper_{};
};

}  // namespace tasuki::ofi

// The event loop of mpiexec: descriptors, and the objects that it calls when they are ready. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace tasuki::launch {

class Ready {
 public:
  /// The descriptor that this was added for can be read or written, or its other end is gone.
  virtual void ready() = 0;

 protected:
  ~Ready() = default;
};

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Returns false for descriptors that are always ready (regular files): nothing is added then.
  bool add_readable(int fd, Ready* who);
  bool add_writable(int fd, Ready* who);
  void remove(int fd);

  /// Waits up to `timeout_ms` (negative: for ever) and calls ready() where a descriptor is. A Ready may
  /// remove itself or others meanwhile, and destroy others: one whose descriptor was removed is not called.
  void run_once(int timeout_ms);

 private:
  /// Descriptors that were ready at once; -1: removed since.
  struct Batch {
    std::vector<int> fds;
    Batch* outer;  // that of a run_once() in which this one runs
  };
  bool add(int fd, std::uint32_t events, Ready* who);

  int epoll_;
  std::map<int, Ready*> watched_;
  Batch* batch_ = nullptr;
};

}  // namespace tasuki::launch

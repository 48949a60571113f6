// A thin layer over epoll.
#include "launch/base/event_loop.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace tasuki::launch {

EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

EventLoop::~EventLoop() {
  close(epoll_);
}

bool EventLoop::add(int fd, std::uint32_t events, Ready* who) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) return false;
  watched_[fd] = who;
  return true;
}

bool EventLoop::add_readable(int fd, Ready* who) {
  return add(fd, EPOLLIN, who);
}

bool EventLoop::add_writable(int fd, Ready* who) {
  return add(fd, EPOLLOUT, who);
}

void EventLoop::remove(int fd) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  watched_.erase(fd);
  for (Batch* batch = batch_; batch != nullptr; batch = batch->outer)
    std::replace(batch->fds.begin(), batch->fds.end(), fd, -1);
}

void EventLoop::run_once(int timeout_ms) {
  epoll_event events[64];
  const int count = epoll_wait(epoll_, events, 64, timeout_ms);
  Batch batch{{}, batch_};
  for (int index = 0; index < count; ++index) batch.fds.push_back(events[index].data.fd);
  batch_ = &batch;
  for (std::size_t index = 0; index < batch.fds.size(); ++index) {
    const auto found = watched_.find(batch.fds[index]);
    if (found != watched_.end()) found->second->ready();
  }
  batch_ = batch.outer;
}

}  // namespace tasuki::launch

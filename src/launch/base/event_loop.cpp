// A thin layer over epoll.
#include "launch/base/event_loop.hpp"

#include <sys/epoll.h>
#include <unistd.h>

namespace tasuki::launch {

EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

EventLoop::~EventLoop() {
  close(epoll_);
}

bool EventLoop::add(int fd, std::uint32_t events, Ready* who) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = who;
  return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
}

bool EventLoop::add_readable(int fd, Ready* who) {
  return add(fd, EPOLLIN, who);
}

bool EventLoop::add_writable(int fd, Ready* who) {
  return add(fd, EPOLLOUT, who);
}

void EventLoop::remove(int fd) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

void EventLoop::run_once(int timeout_ms) {
  epoll_event events[64];
  const int count = epoll_wait(epoll_, events, 64, timeout_ms);
  for (int index = 0; index < count; ++index) static_cast<Ready*>(events[index].data.ptr)->ready();
}

}  // namespace tasuki::launch

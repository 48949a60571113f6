// Bytes in, frames out, and the other way round.
#include "launch/hosts/channel.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/system/clock.hpp"

namespace tasuki::launch {
namespace {

constexpr std::string_view kGreeting = "\001tasuki-hosts-1\002";
constexpr std::size_t kPreambleBytesMax = 64 * 1024;  // that a shell may print before
constexpr std::size_t kPreambleBytesKept = 2048;
constexpr std::int64_t kAliveNs = 1'000'000'000;
constexpr int kFlushMs = 1000;

struct FrameHead {
  std::uint32_t bytes;
  std::uint32_t frame;
};

}  // namespace

Channel::Channel(EventLoop& loop, int in_fd, int out_fd, ChannelUser& user)
    : loop_(loop), user_(user), last_heard_ns_(clock_ns()), last_said_ns_(last_heard_ns_) {
  in_.channel = out_.channel = this;
  in_.fd = in_fd;
  out_.fd = out_fd;
  out_.writes = true;
  fcntl(in_fd, F_SETFL, fcntl(in_fd, F_GETFL) | O_NONBLOCK);
  fcntl(out_fd, F_SETFL, fcntl(out_fd, F_GETFL) | O_NONBLOCK);
  loop_.add_readable(in_fd, &in_);
}

Channel::~Channel() {
  close();
}

void Channel::greet() {
  waiting_ += kGreeting;
  write_waiting();
}

void Channel::send(Frame frame, std::string_view payload) {
  if (!open()) return;
  const FrameHead head{static_cast<std::uint32_t>(payload.size()), static_cast<std::uint32_t>(frame)};
  waiting_.append(reinterpret_cast<const char*>(&head), sizeof head);
  waiting_.append(payload);
  last_said_ns_ = clock_ns();
  write_waiting();
}

std::int64_t Channel::keep_alive(std::int64_t now_ns) {
  if (now_ns - last_said_ns_ >= kAliveNs && waiting_.empty()) send(Frame::kAlive);
  return std::max(last_said_ns_, now_ns) + kAliveNs;
}

void Channel::pardon_silence() {
  last_heard_ns_ = clock_ns();
}

void Channel::read_all() {
  char bytes[64 * 1024];
  for (int round = 0; open() && round < 16; ++round) {  // others are to have their turn
    const ssize_t count = read(in_.fd, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (count <= 0) return end();
    last_heard_ns_ = clock_ns();
    come_.append(bytes, static_cast<std::size_t>(count));
    if (!greeted_ && !skip_preamble()) return end();
    if (greeted_) take_frames();
    if (static_cast<std::size_t>(count) < sizeof bytes) break;
  }
}

/// Returns false when the other side is no agent.
bool Channel::skip_preamble() {
  const std::size_t found = come_.find(kGreeting);
  if (found == std::string::npos) {
    preamble_ = come_.substr(come_.size() > kPreambleBytesKept ? come_.size() - kPreambleBytesKept : 0);
    return come_.size() < kPreambleBytesMax;
  }
  preamble_ = come_.substr(0, found);
  come_.erase(0, found + kGreeting.size());
  greeted_ = true;
  return true;
}

void Channel::take_frames() {
  std::size_t at = 0;
  bool good = true;
  while (open() && come_.size() - at >= sizeof(FrameHead)) {
    FrameHead head;
    std::memcpy(&head, come_.data() + at, sizeof head);
    good = head.bytes <= kFrameBytesMax && head.frame != 0 &&
           head.frame <= static_cast<std::uint32_t>(Frame::kAlive);
    if (!good || come_.size() - at - sizeof head < head.bytes) break;
    at += sizeof head;
    const std::string_view payload(come_.data() + at, head.bytes);
    at += head.bytes;
    if (head.frame != static_cast<std::uint32_t>(Frame::kAlive))
      user_.take_frame(static_cast<Frame>(head.frame), payload);
  }
  come_.erase(0, at);
  if (!good) end();
}

void Channel::write_waiting() {
  std::size_t sent = 0;
  while (out_.fd >= 0 && sent < waiting_.size()) {
    const ssize_t count = write(out_.fd, waiting_.data() + sent, waiting_.size() - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (count < 0) {
      waiting_.clear();  // what the other side has sent is still taken: its end follows
      sent = 0;
      break;
    }
    sent += static_cast<std::size_t>(count);
  }
  waiting_.erase(0, sent);
  const bool watch = out_.fd >= 0 && !waiting_.empty();
  if (watch == watches_out_) return;
  watches_out_ = watch;
  if (watch) {
    loop_.add_writable(out_.fd, &out_);
  } else {
    loop_.remove(out_.fd);
  }
}

void Channel::flush() {
  pollfd room{out_.fd, POLLOUT, 0};
  const std::int64_t end_ns = clock_ns() + kFlushMs * std::int64_t{1'000'000};
  while (open() && !waiting_.empty() && clock_ns() < end_ns) {
    if (poll(&room, 1, kFlushMs) > 0) write_waiting();
    if ((room.revents & (POLLERR | POLLNVAL)) != 0) return;
  }
}

void Channel::close() {
  if (watches_out_) loop_.remove(out_.fd);
  watches_out_ = false;
  if (in_.fd >= 0) {
    loop_.remove(in_.fd);
    ::close(in_.fd);
  }
  if (out_.fd >= 0) ::close(out_.fd);
  in_.fd = out_.fd = -1;
}

void Channel::end() {
  close();
  user_.channel_ended();
}

}  // namespace tasuki::launch

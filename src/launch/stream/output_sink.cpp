// Writing without blocking on descriptors that may block.
#include "launch/stream/output_sink.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tasuki::launch {
namespace {

constexpr std::size_t kPipePartBytes = 4096;  // fits whenever poll() says that a pipe has room

bool has_room(int fd) {
  pollfd entry{fd, POLLOUT, 0};
  return poll(&entry, 1, 0) > 0;
}

}  // namespace

OutputSink::OutputSink(EventLoop& loop, int fd, const char* name) : loop_(loop), fd_(fd), name_(name) {
  struct stat info {};
  fstat(fd, &info);
  socket_ = S_ISSOCK(info.st_mode);
  must_ask_ = S_ISFIFO(info.st_mode) || isatty(fd) != 0;
}

void OutputSink::write(std::string_view text) {
  if (broken()) return;
  pending_ += text;
  if (!watched_) pump();
}

void OutputSink::write_part(std::string_view text, const void* owner) {
  write(text);
  open_line_owner_ = text.back() == '\n' ? nullptr : owner;
}

void OutputSink::ready() {
  pump();
}

void OutputSink::pump() {
  std::size_t done = 0;
  bool wait = false;
  while (done < pending_.size() && !wait && error_ == 0) {
    if (must_ask_ && !has_room(fd_)) {
      wait = true;
      break;
    }
    const char* begin = pending_.data() + done;
    std::size_t count = pending_.size() - done;
    if (must_ask_) count = std::min(count, kPipePartBytes);
    const ssize_t written =
        socket_ ? send(fd_, begin, count, MSG_DONTWAIT | MSG_NOSIGNAL) : ::write(fd_, begin, count);
    if (written > 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno == EAGAIN) {
      wait = true;
    } else if (errno != EINTR) {
      error_ = errno != 0 ? errno : EIO;
    }
  }
  pending_.erase(0, error_ != 0 ? pending_.size() : done);
  watch(wait);
}

void OutputSink::watch(bool on) {
  if (on == watched_) return;
  if (on) {
    watched_ = loop_.add_writable(fd_, this);
  } else {
    loop_.remove(fd_);
    watched_ = false;
  }
}

}  // namespace tasuki::launch

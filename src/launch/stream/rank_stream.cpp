// Reading a rank's pipe.
#include "launch/stream/rank_stream.hpp"

#include <unistd.h>

#include <cerrno>

#include "base/system/clock.hpp"

namespace tasuki::launch {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kPipeBytesMax = 64 * kReadBytes;
constexpr std::int64_t kPartDelayNs =
    300'000'000;  // a line in several writes comes sooner, also on a busy machine

}  // namespace

RankStream::RankStream(EventLoop& loop, int fd, OutputSink& sink, std::string label)
    : loop_(loop), fd_(fd), sink_(sink), label_(std::move(label)) {
  watch(true);
}

RankStream::RankStream(EventLoop& loop, OutputSink& sink, std::string label)
    : loop_(loop), fd_(-1), sink_(sink), label_(std::move(label)), fed_(true) {}

RankStream::~RankStream() {
  close_pipe();
}

void RankStream::ready() {
  if (fd_ >= 0) read_once();
}

void RankStream::take(std::string_view text) {
  if (!fed_) return;
  lines_.add(text);
  give_out(lines_.available());
}

void RankStream::take_end() {
  if (!fed_) return;
  give_out(lines_.all());
  fed_ = false;
  part_due_ns_ = 0;
}

bool RankStream::read_once() {
  char bytes[kReadBytes];
  const ssize_t count = read(fd_, bytes, sizeof bytes);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return errno == EINTR;
  if (count <= 0) {
    give_out(lines_.all());
    close_pipe();
    return false;
  }
  lines_.add({bytes, static_cast<std::size_t>(count)});
  give_out(lines_.available());
  return true;
}

void RankStream::give_out(std::string_view text) {
  if (!text.empty()) {
    if (label_.empty()) {
      sink_.write_part(text, this);
    } else {
      // Another rank's unfinished line is closed, so that the label stands at the beginning of a line.
      const bool own_open = sink_.open_line_owner() == this;
      if (!own_open && sink_.open_line_owner() != nullptr) sink_.write("\n");
      sink_.write_part(with_labels(text, label_, own_open), this);
    }
    lines_.consume(text.size());
  }
  part_due_ns_ = lines_.empty() ? 0 : clock_ns() + kPartDelayNs;
}

void RankStream::give_out_part() {
  give_out(lines_.all());
}

void RankStream::take_available() {
  if (fd_ < 0) return;
  // No more than a pipe can hold: a rank that goes on writing is not waited for.
  for (std::size_t bytes = 0; bytes < kPipeBytesMax && open() && read_once(); bytes += kReadBytes) {
  }
}

void RankStream::finish() {
  take_available();
  take_end();
  if (open()) {
    give_out(lines_.all());
    close_pipe();
  }
}

void RankStream::follow_sink() {
  if (fd_ < 0) return;
  if (sink_.error() == EPIPE) {
    close_pipe();  // the rank's next write fails, as it would without mpiexec in between
  } else {
    watch(!sink_.full());
  }
}

void RankStream::watch(bool on) {
  if (on == watched_) return;
  if (on) {
    loop_.add_readable(fd_, this);
  } else {
    loop_.remove(fd_);
  }
  watched_ = on;
}

void RankStream::close_pipe() {
  if (fd_ < 0) return;
  watch(false);
  close(fd_);
  fd_ = -1;
  part_due_ns_ = 0;
}

}  // namespace tasuki::launch

// Where output goes: mpiexec's own standard output or error, written without ever blocking the event loop, so
// that a paused pager does not keep mpiexec from seeing Ctrl-C or a rank's death.
//
// The descriptor is shared with the shell and others, so it is not made non-blocking: the sink asks whether
// there is room and then writes little enough to fit.
#pragma once

#include <string>
#include <string_view>

#include "launch/base/event_loop.hpp"

namespace tasuki::launch {

class OutputSink final : public Ready {
 public:
  OutputSink(EventLoop& loop, int fd, const char* name);

  /// Takes all of `text`; writes what it can now and the rest later.
  void write(std::string_view text);

  /// The same for a part of the output of `owner`, which may end in the middle of a line. REQUIRES: `text` is
  /// not empty.
  void write_part(std::string_view text, const void* owner);

  /// The last owner of a part, if that ended in the middle of a line; null after a whole line.
  const void* open_line_owner() const { return open_line_owner_; }
  /// What was written since has ended that line.
  void note_whole_line() { open_line_owner_ = nullptr; }

  /// Much is waiting: sources should stop until it is written.
  bool full() const { return pending_.size() > kPendingBytesMax; }

  /// Nothing is waiting.
  bool idle() const { return pending_.empty(); }

  /// The reader is gone, or the disk is full: what is written is dropped. `error` is the errno of the loss.
  bool broken() const { return error_ != 0; }
  int error() const { return error_; }
  const char* name() const { return name_; }

  void ready() override;

 private:
  static constexpr std::size_t kPendingBytesMax = 256 * 1024;
  void pump();
  void watch(bool on);

  EventLoop& loop_;
  int fd_;
  const char* name_;
  bool must_ask_;  // pipes and terminals: poll before writing
  bool socket_;
  bool watched_ = false;
  int error_ = 0;
  std::string pending_;
  const void* open_line_owner_ = nullptr;
};

}  // namespace tasuki::launch

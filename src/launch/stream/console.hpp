// Console: mpiexec's own standard input, output and error, which it shares with its ranks.
//
// The streams of ranks write to output() and error(); mpiexec's own messages go through say() and print(),
// which never cut a rank's line in two. One thread.
#pragma once

#include <string>

#include "launch/base/event_loop.hpp"
#include "launch/stream/output_sink.hpp"
#include "launch/stream/terminal_input.hpp"

namespace tasuki::launch {

class Console {
 public:
  /// Writes to the two descriptors, which stay the caller's.
  Console(EventLoop& loop, int output_fd, int error_fd);

  OutputSink& output() { return output_; }
  OutputSink& error() { return error_; }
  TerminalInput& terminal() { return terminal_; }

  /// Writes a message, of one line or more and without the last line's end, to standard error.
  void say(const std::string& message);

  /// Writes a document, with its last line's end, to standard output.
  void print(const std::string& document);

  /// Nothing waits to be written.
  bool idle() const { return output_.idle() && error_.idle(); }

  /// Whether the reader of standard output is gone, as in "mpiexec ... | head".
  bool reader_gone() const;

  /// Says once that standard output could not be written, for another reason. Returns whether it did so now.
  bool say_loss();

  /// Writes all that waits. A reader that pauses is waited for; if `hurry`, for a moment only.
  void flush(bool hurry);

 private:
  EventLoop& loop_;
  OutputSink output_;
  OutputSink error_;
  const bool one_place_;  // both of them go there
  TerminalInput terminal_;
  bool loss_said_ = false;
};

}  // namespace tasuki::launch

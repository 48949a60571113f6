// Standard input from a terminal, for the rank that reads it. That rank is not in the terminal's foreground
// process group, so it cannot read there itself. (Files and pipes the rank inherits as they are.)
#pragma once

#include <string>

#include "launch/base/event_loop.hpp"

namespace tasuki::launch {

class TerminalInput final : public Ready {
 public:
  explicit TerminalInput(EventLoop& loop) : loop_(loop) {}
  ~TerminalInput();
  TerminalInput(const TerminalInput&) = delete;
  TerminalInput& operator=(const TerminalInput&) = delete;

  /// Makes the pipe. Returns the end for the rank (close-on-exec; the caller closes it), or -1.
  int open();

  /// Starts reading, or does so again after mpiexec came back to the foreground.
  void resume();

  void ready() override;

 private:
  enum class Waiting { kNothing, kTerminal, kPipe };
  void wait_for(Waiting what);
  void stop();

  EventLoop& loop_;
  int pipe_ = -1;  // the end that is written to, non-blocking
  Waiting waiting_ = Waiting::kNothing;
  std::string pending_;
};

}  // namespace tasuki::launch

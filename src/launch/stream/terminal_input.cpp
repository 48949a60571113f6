// Terminal to pipe, one line at a time.
#include "launch/stream/terminal_input.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace tasuki::launch {

TerminalInput::~TerminalInput() {
  stop();
}

int TerminalInput::open() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  pipe_ = ends[1];
  return ends[0];
}

void TerminalInput::resume() {
  if (pipe_ < 0) return;
  // In the background a read would fail or stop us; Waiting::kNothing until SIGCONT says otherwise.
  const bool foreground = tcgetpgrp(STDIN_FILENO) == getpgrp();
  if (pending_.empty()) wait_for(foreground ? Waiting::kTerminal : Waiting::kNothing);
}

void TerminalInput::ready() {
  if (pending_.empty()) {
    char bytes[4096];
    const ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0) {
      wait_for(Waiting::kNothing);
      return;
    }
    if (count == 0) {
      stop();  // end of file: the rank sees it too
      return;
    }
    pending_.assign(bytes, static_cast<std::size_t>(count));
  }
  const ssize_t written = write(pipe_, pending_.data(), pending_.size());
  if (written < 0 && errno != EAGAIN) {
    stop();  // the reader is gone
    return;
  }
  if (written > 0) pending_.erase(0, static_cast<std::size_t>(written));
  wait_for(pending_.empty() ? Waiting::kTerminal : Waiting::kPipe);
}

void TerminalInput::wait_for(Waiting what) {
  if (what == waiting_) return;
  if (waiting_ == Waiting::kTerminal) loop_.remove(STDIN_FILENO);
  if (waiting_ == Waiting::kPipe) loop_.remove(pipe_);
  if (what == Waiting::kTerminal) loop_.add_readable(STDIN_FILENO, this);
  if (what == Waiting::kPipe) loop_.add_writable(pipe_, this);
  waiting_ = what;
}

void TerminalInput::stop() {
  if (pipe_ < 0) return;
  wait_for(Waiting::kNothing);
  close(pipe_);
  pipe_ = -1;
}

}  // namespace tasuki::launch

// Reading, within the window.
#include "launch/hosts/remote_input.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tasuki::launch {
namespace {

constexpr std::size_t kWindowBytes = 256 * 1024;

}  // namespace

Hosts::Input::Input(EventLoop& loop, Branches& branches, int host)
    : loop_(loop), branches_(branches), host_(host) {
  pollable_ = loop_.add_readable(STDIN_FILENO, this);
  watched_ = pollable_;
  if (!pollable_) read_some();
}

Hosts::Input::~Input() {
  watch(false);
}

void Hosts::Input::read_some() {
  char bytes[64 * 1024];
  while (!over_ && under_way_ < kWindowBytes) {
    const std::size_t room = std::min(sizeof bytes, kWindowBytes - under_way_);
    const ssize_t count = read(STDIN_FILENO, bytes, room);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    over_ = count <= 0;
    if (!over_) under_way_ += static_cast<std::size_t>(count);
    branches_.send({host_}, Frame::kInput, {bytes, over_ ? 0 : static_cast<std::size_t>(count)});
    if (pollable_) break;  // another read might wait
  }
  watch(!over_ && under_way_ < kWindowBytes);
}

void Hosts::Input::note_taken(std::size_t bytes) {
  under_way_ -= std::min(bytes, under_way_);
  if (!pollable_) read_some();
  watch(!over_ && under_way_ < kWindowBytes);
}

void Hosts::Input::watch(bool on) {
  if (!pollable_ || on == watched_) return;
  watched_ = on;
  if (on) {
    loop_.add_readable(STDIN_FILENO, this);
  } else {
    loop_.remove(STDIN_FILENO);
  }
}

}  // namespace tasuki::launch

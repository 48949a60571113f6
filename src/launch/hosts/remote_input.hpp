// mpiexec's standard input on its way to a rank on another host: no more is read than that rank has taken,
// but for a window, so that an endless input does not fill memory.
#pragma once

#include "launch/base/event_loop.hpp"
#include "launch/hosts/branches.hpp"
#include "launch/hosts/hosts.hpp"

namespace tasuki::launch {

class Hosts::Input final : public Ready {
 public:
  /// Reads STDIN_FILENO, for a rank on that host. `branches` outlives this object.
  Input(EventLoop& loop, Branches& branches, int host);
  ~Input();

  void ready() override { read_some(); }
  /// The rank's pipe has taken so many bytes more.
  void note_taken(std::size_t bytes);

 private:
  void read_some();
  void watch(bool on);

  EventLoop& loop_;
  Branches& branches_;
  const int host_;
  std::size_t under_way_ = 0;
  bool over_ = false;
  bool pollable_ = true;  // regular files are not: they are read when there is room
  bool watched_ = false;
};

}  // namespace tasuki::launch

// LaunchedAgent: the process here that leads to another host (ssh, srun), and the channel through it.
//
// One thread. The process is ours to reap; what it prints on standard error goes to the user of this object.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launch/base/event_loop.hpp"
#include "launch/hosts/channel.hpp"

namespace tasuki::launch {

class LaunchedAgentUser : public ChannelUser {
 public:
  /// What the launcher, or the agent, has printed on standard error.
  virtual void take_words(std::string_view text) = 0;

 protected:
  ~LaunchedAgentUser() = default;
};

class LaunchedAgent final : public Ready {
 public:
  /// Starts `words`, which find `first` on their standard input before the channel begins. `user` outlives
  /// this object.
  LaunchedAgent(EventLoop& loop, const std::vector<std::string>& words, LaunchedAgentUser& user,
                std::string_view first = {});
  ~LaunchedAgent();
  LaunchedAgent(const LaunchedAgent&) = delete;
  LaunchedAgent& operator=(const LaunchedAgent&) = delete;

  /// Why nothing was started; empty: it runs.
  const std::string& error() const { return error_; }
  int pid() const { return pid_; }
  Channel& channel() { return *channel_; }
  const Channel& channel() const { return *channel_; }

  /// Gives out what it has printed by now.
  void ready() override;

  /// Its exit status as a shell tells it, -1 while it runs. Waits up to `wait_ms` for its end.
  int exit_status(int wait_ms);

 private:
  void close_words();

  EventLoop& loop_;
  LaunchedAgentUser& user_;
  int pid_ = -1;
  int status_ = -1;
  int words_fd_ = -1;
  std::string error_;
  std::unique_ptr<Channel> channel_;
};

}  // namespace tasuki::launch

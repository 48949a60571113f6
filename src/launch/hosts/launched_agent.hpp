// LaunchedAgent: the process here that leads to another host (ssh, srun), and the channel through it.
//
// One thread. The process is ours to reap; what it prints on standard error goes to mpiexec's.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launch/base/event_loop.hpp"
#include "launch/hosts/channel.hpp"
#include "launch/stream/output_sink.hpp"
#include "launch/stream/rank_stream.hpp"

namespace tasuki::launch {

class LaunchedAgent {
 public:
  /// Starts `words`, which find `first` on their standard input before the channel begins. `user` and
  /// `error_output` outlive this object.
  LaunchedAgent(EventLoop& loop, const std::vector<std::string>& words, ChannelUser& user,
                OutputSink& error_output, std::string_view first = {});
  ~LaunchedAgent();
  LaunchedAgent(const LaunchedAgent&) = delete;
  LaunchedAgent& operator=(const LaunchedAgent&) = delete;

  /// Why nothing was started; empty: it runs.
  const std::string& error() const { return error_; }
  int pid() const { return pid_; }
  Channel& channel() { return *channel_; }
  const Channel& channel() const { return *channel_; }
  RankStream& messages() { return *messages_; }

  /// Its exit status as a shell tells it, -1 while it runs. Waits up to `wait_ms` for its end.
  int exit_status(int wait_ms);
  /// Ends it, if it runs.
  void end();

 private:
  int pid_ = -1;
  int status_ = -1;
  std::string error_;
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<RankStream> messages_;
};

}  // namespace tasuki::launch

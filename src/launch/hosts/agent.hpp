// Agent: starts the ranks of a job on this host for the mpiexec on another one, and looks after them:
// `mpiexec
// --agent`, which that mpiexec starts by ssh, srun or the like, and which speaks to it over its standard
// input and output (channel.hpp). Nobody else starts it.
//
// It does what mpiexec does on its own host, with the same parts, but decides nothing: it tells what becomes
// of its ranks, and does what it is told. When the channel ends, or is silent for too long, the job is over
// for it: it ends its ranks and goes.
//
// One thread, one event loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/base/event_loop.hpp"
#include "launch/host/start_program.hpp"
#include "launch/hosts/agent_part.hpp"
#include "launch/hosts/channel.hpp"
#include "launch/hosts/orders.hpp"
#include "launch/hosts/recordings.hpp"

namespace tasuki::launch {

class Agent final : public Ready, public ChannelUser {
 public:
  /// `inherited` and `signal_fd` are those of take_over_signals(). Standard input and output become the
  /// channel.
  Agent(const Inherited& inherited, int signal_fd);

  /// Returns the exit status once the job is over for this host.
  int run();

  void ready() override;  // signals
  void take_frame(Frame frame, std::string_view payload) override;
  void channel_ended() override;

 private:
  void start(std::string_view payload);
  bool begin_part(const StartOrder& order, Refusal* refusal);
  void follow(std::int64_t now_ns);
  int wait_ms() const;

  struct Descriptors {
    int in;
    int out;
  };
  static Descriptors take_channel();

  EventLoop loop_;
  const Inherited& inherited_;
  const int signal_fd_;
  const Descriptors descriptors_;
  Channel channel_;
  StartOrder order_;  // the first
  Recordings recordings_;
  std::unique_ptr<AgentPart> part_;  // once there is an order
  bool told_over_ = false;
  bool sends_recordings_ = false;
  bool told_to_hold_ = false;
  bool unheard_ = false;         // mpiexec has been silent for too long
  std::int64_t stopped_ns_ = 0;  // when it said last that it would stop
  std::int64_t board_due_ns_ = 0;
  std::int64_t asked_ns_ = 0;
};

}  // namespace tasuki::launch

// Agent: starts the ranks of a job on this host for the mpiexec on another one, and looks after them:
// `mpiexec
// --agent`, which that mpiexec starts by ssh, srun or the like, and which speaks to it over its standard
// input and output (channel.hpp). Nobody else starts it.
//
// It does what mpiexec does on its own host, with the same parts, but decides nothing: it tells what becomes
// of its ranks, and does what it is told. When the channel ends, or is silent for too long, the job is over
// for it: it ends its ranks and goes.
//
// Where mpiexec says so it starts agents on further hosts, and carries their frames (branches.hpp). It goes
// after them.
//
// One thread, one event loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/base/event_loop.hpp"
#include "launch/host/start_program.hpp"
#include "launch/hosts/agent_part.hpp"
#include "launch/hosts/branches.hpp"
#include "launch/hosts/channel.hpp"
#include "launch/hosts/orders.hpp"
#include "launch/hosts/recordings.hpp"

namespace tasuki::launch {

class Agent final : public Ready, public ChannelUser, public BranchesUser {
 public:
  /// `inherited` and `signal_fd` are those of take_over_signals(). Standard input and output become the
  /// channel.
  Agent(const Inherited& inherited, int signal_fd);

  /// Returns the exit status once the job is over for this host.
  int run();

  void ready() override;  // signals
  void take_frame(Frame frame, std::string_view payload) override;
  void channel_ended() override;

  // BranchesUser: all of it goes up
  void take_frame_of(int host, Frame frame, std::string_view payload) override;
  void take_words_of(int host, std::string_view text) override;
  void take_loss(const AgentLoss& loss) override;

 private:
  void start(std::string_view payload);
  bool begin_part(const StartOrder& order, Refusal* refusal);
  bool is_done();
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
  Branches branches_;
  StartOrder order_;  // the first
  Recordings recordings_;
  std::unique_ptr<AgentPart> part_;  // once there is an order
  bool told_over_ = false;
  bool sends_recordings_ = false;
  Hold told_to_hold_ = Hold::kNothing;
  bool unheard_ = false;         // mpiexec has been silent for too long
  std::int64_t stopped_ns_ = 0;  // when it said last that it would stop
  std::int64_t board_due_ns_ = 0;
  std::int64_t asked_ns_ = 0;
};

}  // namespace tasuki::launch

// AgentPart: the part of a job that an agent has on its host: its ranks, their processes and their streams.
//
// One thread. What it is given outlives it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launch/base/event_loop.hpp"
#include "launch/ending/ending.hpp"
#include "launch/host/rank_processes.hpp"
#include "launch/hosts/channel.hpp"
#include "launch/hosts/mirror.hpp"
#include "launch/hosts/orders.hpp"
#include "launch/report/reports.hpp"
#include "launch/start/preparation.hpp"
#include "launch/start/rank_starter.hpp"
#include "launch/start/rank_streams.hpp"
#include "launch/start/spawn_service.hpp"
#include "launch/stream/console.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

class AgentPart final : public RankStreams, public SpawnHandler {
 public:
  AgentPart(EventLoop& loop, Channel& channel, const StartOrder& order, const Inherited& inherited);
  ~AgentPart();

  /// Starts the ranks. `folder`: what they record is there, and is nobody's if the agent is killed; or empty.
  /// Returns false, and why, when one could not be started.
  bool start(const std::string& folder, Refusal* refusal);

  Ending& ending() { return ending_; }
  Mirror& mirror() { return *mirror_; }

  /// Tells which ranks have ended.
  void look_for_ended();
  /// Tells what ranks have put and where they are.
  void tell_states();
  void tell_boards();

  void signal(int signal, bool orphans_too) { processes_.signal(signal, orphans_too); }
  void take_input(std::string_view bytes);
  void hold(bool on);
  Reports::SharedBytes shared_bytes() const;
  /// Whether ranks' outputs have all been sent.
  bool outputs_over() const;

  // RankStreams
  void take_output(const WorldRank& rank, int stream, int fd) override;
  int open_input(std::vector<int>* to_close) override;

  // SpawnHandler
  std::string spawn(const SpawnRequest& request) override;
  void take_leaks(const LeakReport& report) override;
  void take_values() override { tell_states(); }
  void owner_gone(bool) override {}

 private:
  class Output;
  class Input;

  EventLoop& loop_;
  Channel& channel_;
  const StartOrder& order_;
  Console console_;
  Worlds worlds_;
  RankProcesses processes_;
  Ending ending_;
  Reports reports_;
  Preparation preparation_;
  RankStarter starter_;
  SpawnService spawns_;
  std::unique_ptr<Mirror> mirror_;
  std::vector<std::unique_ptr<Output>> outputs_;
  std::unique_ptr<Input> input_;
};

}  // namespace tasuki::launch

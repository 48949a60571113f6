// AgentPart: the part of a job that an agent has on its host: its ranks, of the first world and of those that
// are spawned, their processes and their streams. What they ask of mpiexec goes there and back.
//
// One thread. What it is given outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
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
  /// `order`: the first. `folder`: what ranks record is there, and is nobody's if the agent is killed; or
  /// empty.
  AgentPart(EventLoop& loop, Channel& channel, const StartOrder& order, const Inherited& inherited,
            const Launchers& launchers, const std::string& folder);
  ~AgentPart();

  /// Starts the ranks of a world. Returns false, and why, when one could not be started; then none runs.
  bool start(const StartOrder& order, Refusal* refusal);
  /// Ends what runs of a world, and forgets it.
  void end_world(std::uint32_t number, int signal);

  Ending& ending() { return ending_; }
  /// Values, states and questions of ranks.
  void take(Frame frame, std::string_view payload);
  /// What mpiexec has answered.
  void take_answer(std::string_view payload);

  /// Tells which ranks have ended.
  void look_for_ended();
  /// Tells what ranks have put and where they are.
  void tell_states();
  void tell_boards();

  /// To that world's ranks alone.
  void signal_world(std::uint32_t world, int signal);
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
  void spawn(const SpawnRequest& request, Reply reply) override { ask(encode(request), std::move(reply)); }
  void ask_about_name(const NameRequest& request, const Reply& reply) override {
    ask(encode(request), reply);
  }
  void take_connections(const ConnectionReport& report, const Reply& reply) override {
    ask(encode(report), reply);
  }
  void take_leaks(const LeakReport& report) override;
  void take_values() override { tell_states(); }
  void owner_gone(bool) override {}

 private:
  class Output;
  class Input;

  bool start_world(World& world, Refusal* refusal);
  void ask(const std::string& request, Reply reply);

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
  std::vector<std::unique_ptr<Mirror>> mirrors_;  // of each world
  std::map<std::uint32_t, Reply> asked_;          // what mpiexec has not answered yet
  std::uint32_t next_question_ = 0;
  std::vector<std::unique_ptr<Output>> outputs_;
  std::unique_ptr<Input> input_;
};

}  // namespace tasuki::launch

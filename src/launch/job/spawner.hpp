// Spawner: worlds that come and go while the job runs (MPI 11.8). It answers what comes over the
// SpawnService.
//
// One thread. What it is given outlives it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launch/ending/ending.hpp"
#include "launch/host/rank_processes.hpp"
#include "launch/hosts/hosts.hpp"
#include "launch/hosts/place_ranks.hpp"
#include "launch/report/reports.hpp"
#include "launch/start/preparation.hpp"
#include "launch/start/rank_starter.hpp"
#include "launch/start/spawn_service.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

/// The applications that a request stands for. Returns why it cannot be served, or nothing.
std::string applications_of(const SpawnRequest& request, std::vector<Application>* applications);

class Spawner final : public SpawnHandler {
 public:
  Spawner(Worlds& worlds, RankProcesses& processes, Reports& reports, Preparation& preparation,
          RankStarter& starter, Hosts& hosts, Ending& ending, const Family& family)
      : worlds_(worlds),
        processes_(processes),
        reports_(reports),
        preparation_(preparation),
        starter_(starter),
        hosts_(hosts),
        ending_(ending),
        family_(family) {}

  void spawn(const SpawnRequest& request, Reply reply) override;
  void ask_about_name(const NameRequest& request, const Reply& reply) override;
  void take_connections(const ConnectionReport& report, const Reply& reply) override;
  void take_leaks(const LeakReport& report) override { reports_.take_leaks(report); }
  void take_values() override { hosts_.tell_values(); }

  /// The program that this mpiexec was started for has ended. What is connected to it goes on only if it took
  /// its leave.
  void owner_gone(bool in_order) override;

  /// Lets go of spawned worlds that are over. What their programs may have left behind is asked to end.
  /// REQUIRES: no examination looks at the worlds' segments.
  void retire_worlds();

 private:
  std::string make_world(const SpawnRequest& request, World** made);
  void drop_world(World& world);

  Worlds& worlds_;
  RankProcesses& processes_;
  Reports& reports_;
  Preparation& preparation_;
  RankStarter& starter_;
  Hosts& hosts_;
  Ending& ending_;
  const Family& family_;
  std::map<std::string, std::string> names_;  // ports by services: what jobs on several hosts publish
};

}  // namespace tasuki::launch

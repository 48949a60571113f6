// RankStarter: starts the ranks of a prepared world one by one on this machine, each with its standard
// streams, its environment and its processors.
//
// On several hosts the agent on each of them has one for its ranks. One thread. What it is given outlives it.
#pragma once

#include <string>
#include <vector>

#include "launch/host/rank_processes.hpp"
#include "launch/host/rank_session.hpp"
#include "launch/host/start_program.hpp"
#include "launch/options/options.hpp"
#include "launch/report/reports.hpp"
#include "launch/start/preparation.hpp"
#include "launch/start/rank_streams.hpp"
#include "launch/stream/console.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

class RankStarter {
 public:
  /// `inherited` is that of take_over_signals().
  RankStarter(const Options& options, const Inherited& inherited, RankStreams& streams, Console& console,
              RankProcesses& processes, const Reports& reports)
      : options_(options),
        inherited_(inherited),
        streams_(streams),
        console_(console),
        processes_(processes),
        reports_(reports) {}
  ~RankStarter();
  RankStarter(const RankStarter&) = delete;
  RankStarter& operator=(const RankStarter&) = delete;

  /// When memory runs out the kernel is to kill a rank, and not mpiexec, which is to report it. Before any
  /// process is made.
  void spare_launcher();

  /// Starts all ranks that are here. Returns false, and why, when one could not be started; others may run
  /// then.
  bool start(World* world, Refusal* refusal);

 private:
  bool has_input(const World& world) const;
  bool start_rank(const WorldRank& rank, std::size_t number_here, Refusal* refusal);
  void set_variables(const WorldRank& rank, RankEnvironment* environment) const;
  bool connect_outputs(const WorldRank& rank, Start* start, std::vector<int>* to_close, Refusal* refusal);
  bool connect_output(const std::string& path, const WorldRank& rank, int stream, int* fd,
                      std::vector<int>* to_close, Refusal* refusal);
  int standard_input(const WorldRank& rank, std::vector<int>* to_close);

  const Options& options_;
  const Inherited& inherited_;
  RankStreams& streams_;
  Console& console_;
  RankProcesses& processes_;
  const Reports& reports_;
  RankSession session_;
  std::string kill_score_;  // of the ranks; empty: as mpiexec
  int null_fd_ = -1;
};

}  // namespace tasuki::launch

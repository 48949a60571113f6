// RankStarter: starts the ranks of a prepared world one by one on this machine, each with its standard
// streams, its environment and its processors.
//
// On several hosts an agent on each of them would do this for its ranks; the world and its preparation are
// the job's. One thread. What it is given outlives it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/base/event_loop.hpp"
#include "launch/host/rank_processes.hpp"
#include "launch/host/start_program.hpp"
#include "launch/job/preparation.hpp"
#include "launch/options/options.hpp"
#include "launch/report/reports.hpp"
#include "launch/stream/console.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

class RankStarter {
 public:
  /// `inherited` is that of take_over_signals().
  RankStarter(EventLoop& loop, const Options& options, const Inherited& inherited, Console& console,
              RankProcesses& processes, const Reports& reports)
      : loop_(loop),
        options_(options),
        inherited_(inherited),
        console_(console),
        processes_(processes),
        reports_(reports) {}
  ~RankStarter();
  RankStarter(const RankStarter&) = delete;
  RankStarter& operator=(const RankStarter&) = delete;

  /// When memory runs out the kernel is to kill a rank, and not mpiexec, which is to report it. Before any
  /// process is made.
  void spare_launcher();

  /// Starts all ranks. Returns false, and why, when one could not be started; others may run then.
  bool start(World* world, Refusal* refusal);

 private:
  bool start_rank(const WorldRank& rank, Refusal* refusal);
  void set_variables(const WorldRank& rank, RankEnvironment* environment) const;
  bool connect_outputs(const WorldRank& rank, Start* start, std::vector<int>* to_close, Refusal* refusal);
  bool connect_output(const std::string& path, OutputSink& sink, const std::string& rank,
                      std::unique_ptr<RankStream>* stream, int* fd, std::vector<int>* to_close,
                      Refusal* refusal);
  int standard_input(const WorldRank& rank, std::vector<int>* to_close);

  EventLoop& loop_;
  const Options& options_;
  const Inherited& inherited_;
  Console& console_;
  RankProcesses& processes_;
  const Reports& reports_;
  std::string kill_score_;  // of the ranks; empty: as mpiexec
  int null_fd_ = -1;
};

}  // namespace tasuki::launch

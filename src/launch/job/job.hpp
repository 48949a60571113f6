// A job: the ranks of one mpiexec, from start to the last one's end: those of the command line, and those
// that they spawn, which are worlds of their own.
//
// Job is the event loop, and the wiring between those that do the work:
//
//   Preparation, RankStarter make a world ready, and start its ranks
//   Hosts                    the same on other hosts, by an agent on each
//   Worlds, RankProcesses    what runs, and its processes on this machine
//   Ending                   how the job ends, and the exit status
//   JobDoctor                looks at ranks that stand still or fail
//   Reports, JobTop          what is collected from the ranks, and what they do now
//   Spawner, SpawnService    more worlds, while the job runs
//   Console                  mpiexec's own standard input, output and error
//
// They know of one another only what their constructors take. What goes between Ending and JobDoctor goes
// through Job: a failed rank, the time limit and SIGQUIT lead to an examination, and its conclusion to the
// end.
//
// One thread, one event loop.
#pragma once

#include "launch/base/event_loop.hpp"
#include "launch/doctor/job_doctor.hpp"
#include "launch/ending/ending.hpp"
#include "launch/host/rank_processes.hpp"
#include "launch/hosts/hosts.hpp"
#include "launch/hosts/place_ranks.hpp"
#include "launch/job/spawner.hpp"
#include "launch/options/options.hpp"
#include "launch/report/reports.hpp"
#include "launch/start/preparation.hpp"
#include "launch/start/rank_starter.hpp"
#include "launch/start/spawn_service.hpp"
#include "launch/stream/console.hpp"
#include "launch/top/job_top.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

class Job final : public Ready, public HostsUser {
 public:
  /// `signal_fd` and `inherited` are those of take_over_signals().
  Job(const Options& options, const Inherited& inherited, int signal_fd);

  /// Starts the ranks and returns mpiexec's exit status once all have ended.
  int run();

  void ready() override;  // signals

  // HostsUser
  void ranks_ended() override { look_for_ended(); }
  void host_lost(const std::string& text) override;
  bool goes_on() const override { return ending_.job_runs(); }
  bool asked(const std::string& request, const Reply& reply) override {
    return ask(spawner_, request, reply);
  }

 private:
  bool start_first_world();
  bool start_ranks(World* world, Refusal* refusal);
  void main_loop();
  int wait_ms() const;
  void follow_streams(std::int64_t now_ns);
  void examine_at_time_limit();
  void follow_doctor();
  void look_for_ended();
  void take_signal(int signal);
  void report();

  const Options& options_;
  const int signal_fd_;
  bool starting_ = false;  // ranks on several hosts
  EventLoop loop_;
  Console console_;
  const Family family_;
  Worlds worlds_;
  RankProcesses processes_;
  Ending ending_;
  Reports reports_;
  JobDoctor doctor_;
  JobTop top_;
  ConsoleStreams streams_;
  Hosts hosts_;
  Preparation preparation_;
  RankStarter starter_;
  Spawner spawner_;
  SpawnService spawns_;
};

}  // namespace tasuki::launch

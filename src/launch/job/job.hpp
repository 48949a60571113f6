// A job: the ranks of one mpiexec, from start to the last one's end: those of the command line, and those
// that they spawn, which are worlds of their own.
//
// One thread, one event loop. Programs run in process groups of their own. A rank that ended stays unreaped
// until all of the job have ended, so that its number, which names its process group, cannot become
// another's; a spawned world is let go of once its ranks have ended and closed their outputs, so that a
// program may spawn for ever.
//
// Phases, in order: kRunning until the first failure, a signal, the time limit or the last rank's end;
// kExamining while the doctor looks at the ranks of a job that is to end, a few tenths of a second; kEnding
// after SIGTERM; kKilling after SIGKILL. Whatever the ranks' programs leave behind in their groups is
// ended in the same way.
//
// Invariants:
//  1. Exactly one message tells why a job was ended; what happens to other ranks afterwards is not reported.
//  2. `status_` is the exit status of the first failure and does not change any more.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "launch/base/event_loop.hpp"
#include "launch/doctor/examination.hpp"
#include "launch/doctor/standstill.hpp"
#include "launch/host/guard.hpp"
#include "launch/host/memory_limit.hpp"
#include "launch/host/start_program.hpp"
#include "launch/job/rank_end.hpp"
#include "launch/job/spawn_service.hpp"
#include "launch/options/options.hpp"
#include "launch/report/io_times_recording.hpp"
#include "launch/report/leak_summary.hpp"
#include "launch/report/statistics_table.hpp"
#include "launch/report/trace_recording.hpp"
#include "launch/stream/output_sink.hpp"
#include "launch/stream/terminal_input.hpp"
#include "launch/top/top.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

class Job final : public Ready, private SpawnHandler {
 public:
  /// `signal_fd` and `inherited` are those of take_over_signals().
  Job(const Options& options, const Inherited& inherited, int signal_fd);
  ~Job();

  /// Starts the ranks and returns mpiexec's exit status once all have ended.
  int run();

  void ready() override;  // signals

 private:
  enum class Phase { kRunning, kExamining, kEnding, kKilling };

  /// Why the doctor looks at the ranks; the later ones are the graver.
  enum class Occasion { kCheck, kStandstill, kAsked, kTimeLimit, kFailure };

  /// Why something was not started, and mpiexec's exit status for that.
  struct Refusal {
    std::string text;
    int status = 1;
  };

  /// A rank that has ended.
  struct Ended {
    World* world;
    int rank;
  };

  /// Why the job ends, told once the rank's last call is known.
  struct Failure {
    Ended who;
    RankEnd end;
  };

  // job.cpp
  bool prepare(World* world, Refusal* refusal);
  void hand_on_tuning(World* world);
  void note_checking(const World& world);
  bool find_programs(World* world, Refusal* refusal);
  void plan(World* world);
  void report_bindings();
  int main_loop();
  bool finished();
  int wait_ms() const;
  void meet_deadlines();
  void follow_sinks();
  void drain();
  void flush_sinks();
  void say(const std::string& text);
  void take_statistics(World& world);
  void report_statistics();
  template <class Each>
  void for_each_stream(Each&& each) const {
    for (const auto& world : worlds_) world->for_each_stream(each);
  }
  template <class Each>
  void for_each_rank(Each&& each) const {
    for (const auto& world : worlds_) {
      for (Rank& rank : world->ranks) each(*world, rank);
    }
  }

  bool prepare_recordings(World* world, Refusal* refusal);
  void report_recordings();

  // job_spawn.cpp
  std::string spawn(const SpawnRequest& request) override;
  void owner_gone(bool in_order) override;
  void abandon(World& world);
  void retire_worlds();

  // job_leaks.cpp
  void take_leaks(const LeakReport& report) override;
  void report_leaks();

  // job_start.cpp
  void spare_launcher();
  bool start_all(World* world, Refusal* refusal);
  bool start_rank(World* world, int rank, Refusal* refusal);
  bool connect_outputs(World* world, int rank, Start* start, std::vector<int>* to_close, Refusal* refusal);
  bool connect_output(const std::string& path, OutputSink& sink, const std::string& rank,
                      std::unique_ptr<RankStream>* stream, int* fd, std::vector<int>* to_close,
                      Refusal* refusal);
  int standard_input(const World& world, int rank, std::vector<int>* to_close);
  bool cannot_run(int rank, const std::string& program, int error, const std::string& detail,
                  Refusal* refusal);

  // job_doctor.cpp
  static Subject subject(World& world, int rank);
  std::vector<SubjectWorld> subjects();
  bool has_mpi();
  void watch_ranks(std::int64_t now);
  void examine(Occasion occasion);
  bool may_be_served() const;
  bool stands_as_told() const;
  bool is_worth_telling() const;
  void go_on_with_examination();
  void conclude();
  void conclude_failure(const Examination& examination);
  void say_failure();
  void cut_examination_short();
  void say_occasion();
  void tell(const Examination& examination);

  // job_top.cpp
  void begin_top();
  void show_top();
  void hide_top();

  // job_end.cpp
  void end_at_time_limit();
  void look_for_ended();
  void judge_ended(const std::vector<Ended>& ended);
  RankEnd end_of(const Ended& ended);
  bool any_other_in_world(const Ended& ended);
  void fail(const Ended& ended);
  void on_signal(int signal);
  void suspend();
  void begin_ending();
  void wait_for_memory();
  void kill_ranks();
  void signal_groups(int signal);
  bool groups_left();
  std::vector<int> other_children() const;
  std::vector<int> orphans() const;
  void reap_all();
  void reap_orphans();
  int running() const;

  const Options& options_;
  const Inherited& inherited_;
  int signal_fd_;
  std::string host_;
  const MemoryLimit memory_limit_;  // as it stood before the ranks
  std::string kill_score_;          // of the ranks; empty: as mpiexec
  EventLoop loop_;
  OutputSink output_;
  OutputSink error_;
  const bool one_place_;  // both of them go there
  TerminalInput terminal_;
  Guard guard_;
  SpawnService spawns_;
  bool has_tuning_ = false;                     // somebody names a table of parameters
  std::string tuning_;                          // its text: tuning/table.hpp
  const std::string id_;                        // random: local::kLauncherIdName of all that is started
  const std::string mark_;                      // the same with its name, as in an environment
  std::string spawn_socket_;                    // its name; empty: nobody can spawn
  std::vector<std::unique_ptr<World>> worlds_;  // the command line's first, if there is one
  JobStatistics statistics_;                    // of worlds that are over; empty where nobody wants them
  TraceRecording trace_;                        // of all worlds
  IoTimesRecording io_times_;                   // of all worlds
  std::unique_ptr<Top> top_;                    // null: nobody wants it
  LeakSummary leaks_;                           // that the ranks have told
  int worlds_made_ = 0;
  bool checking_ = false;                     // a program runs with TASUKI_CHECK
  std::unique_ptr<Examination> examination_;  // null: none; while there is one no world goes
  Occasion occasion_ = Occasion::kAsked;      // of the examination
  std::unique_ptr<Failure> failure_;          // why the job ends; in kExamining
  Standstill standstill_;
  std::int64_t next_look_ns_ = 0;         // at the ranks' lines; 0: nobody wants it
  std::int64_t standstill_asked_ns_ = 0;  // when it was looked at whether a standstill is worth telling
  std::int64_t told_standstill_ns_ = 0;   // when the one began that was told last
  std::uint64_t checked_quiet_ = 0;       // Standstill::quiet() when the last check began
  std::uint64_t told_quiet_ = 0;          // the same when a table was told last
  std::string told_deadlock_;             // the ranks of the one that was told last
  int null_fd_ = -1;

  Phase phase_ = Phase::kRunning;
  int status_ = 0;
  bool reaped_ = false;
  bool gave_up_ = false;
  bool hurry_ = false;  // a signal or the time limit ended the job
  bool loss_told_ = false;
  std::int64_t time_limit_ns_ = 0;  // on the monotonic clock; 0: none
  std::int64_t deadline_ns_ = 0;    // of the present phase; 0: none
};

}  // namespace tasuki::launch

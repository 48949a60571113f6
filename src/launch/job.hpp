// A job: the ranks of one mpiexec, from start to the last one's end.
//
// One thread, one event loop. Programs run in process groups of their own. A rank that ended stays unreaped
// until all have ended, so that its number, which names its process group, cannot become another's.
//
// Phases, in order: kRunning until the first failure, a signal, the time limit or the last rank's end;
// kEnding after SIGTERM; kKilling after SIGKILL. Whatever the ranks' programs leave behind in their groups is
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

#include "launch/binding.hpp"
#include "launch/environment.hpp"
#include "launch/event_loop.hpp"
#include "launch/failure.hpp"
#include "launch/guard.hpp"
#include "launch/options.hpp"
#include "launch/program.hpp"
#include "launch/segment.hpp"
#include "launch/sink.hpp"
#include "launch/spawn.hpp"
#include "launch/stream.hpp"
#include "launch/terminal_input.hpp"

namespace tasuki::launch {

class Job final : public Ready {
 public:
  /// `signal_fd` and `inherited` are those of take_over_signals().
  Job(const Options& options, const Inherited& inherited, int signal_fd);
  ~Job();

  /// Starts the ranks and returns mpiexec's exit status once all have ended.
  int run();

  void ready() override;  // signals

 private:
  enum class Phase { kRunning, kEnding, kKilling };

  struct Rank {
    std::size_t application = 0;
    int pid = -1;  // and process group; -1: not started
    bool ended = false;
    int wait_status = 0;
    std::unique_ptr<RankStream> output;  // null: to a file
    std::unique_ptr<RankStream> error;
  };

  // job.cpp
  bool prepare();
  bool find_programs();
  void plan();
  void report_bindings();
  int main_loop();
  bool finished();
  int wait_ms() const;
  void meet_deadlines();
  void follow_sinks();
  void drain();
  void flush_sinks();
  void say(const std::string& text);

  // job_start.cpp
  bool start_all();
  bool start_rank(int rank);
  bool connect_outputs(int rank, Start* start, std::vector<int>* to_close);
  bool connect_output(const std::string& path, Sink& sink, int rank, std::unique_ptr<RankStream>* stream,
                      int* fd, std::vector<int>* to_close);
  int standard_input(int rank, std::vector<int>* to_close);
  bool cannot_run(int rank, const std::string& program, int error, const std::string& detail);

  // job_end.cpp
  void look_for_ended();
  void judge_ended(const std::vector<int>& ended);
  RankEnd end_of(int rank);
  bool any_other_joined(int rank);
  void fail(const RankEnd& end);
  void on_signal(int signal);
  void suspend();
  void begin_ending();
  void kill_ranks();
  void signal_groups(int signal);
  bool groups_left();
  void reap_all();
  int running() const;

  const Options& options_;
  const Inherited& inherited_;
  int signal_fd_;
  std::string host_;
  EventLoop loop_;
  Sink output_;
  Sink error_;
  TerminalInput terminal_;
  Segment segment_;
  Guard guard_;
  std::vector<FoundProgram> programs_;     // of each application
  std::vector<Environment> environments_;  // of each application
  BindingPlan bindings_;
  std::vector<Rank> ranks_;
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

// Launcher: what a rank asks of the one that started it, and reports to it: more processes, where it is in
// its life, its counts, what it left behind, the end of the job.
//
// Implemented by: job/local/job_starter.cpp (our mpiexec), job/local/singleton.cpp (none: a program that
// runs alone), environment/outside.cpp and the unit tests.
//
// Thread safety: each method may be called from one thread of a rank at a time.
#pragma once

#include <string>
#include <vector>

#include "base/variables/counters.hpp"
#include "job/leak_report.hpp"
#include "job/spawn_request.hpp"

namespace tasuki {

/// "solver+0x12af": the place of the call that returns to `site`, where debug information is not at hand.
/// Empty: unknown.
std::string module_place(std::uint64_t site);

class Launcher {
 public:
  virtual ~Launcher() = default;

  /// The table of the machine's parameters, in JSON, that the launcher has read for all ranks alike; empty:
  /// they take the built-in ones; null: it read none.
  virtual const char* tuning_table() const { return nullptr; }

  /// Starts more ranks, as a job of their own (MPI 11.8). Returns false and the reason in `error` when it did
  /// not. Blocks without progress: the launcher waits for no rank.
  virtual bool spawn(const SpawnRequest& /*request*/, std::string* error) {
    *error = "whatever started this program cannot start others for it";
    return false;
  }

  /// Publishes, withdraws or looks up a name among the jobs of this launcher, where it keeps names for jobs
  /// on several hosts (Directory::spans_hosts()). Returns false, and why, when it does not do so.
  virtual bool ask_about_name(const NameRequest& /*request*/, std::string* /*port*/, std::string* error) {
    *error = "whatever started this program keeps no names";
    return false;
  }

  /// Says which other jobs this process is connected to (MPI 11.10.4) when that has changed: its end is the
  /// end of those and of no others. Returns once the launcher knows.
  virtual void report_connections(const ConnectionReport& /*report*/) {}

  /// Whether the launcher of this program's spawns has ended, and with it what it had started.
  virtual bool is_gone() { return false; }

  /// Says on the call board which files hold this program's code, for tools that look for source lines; the
  /// line shows the call that starts MPI. And lets the launcher look at this process' stack.
  virtual void publish_program() {}

  /// This rank takes part in MPI_COMM_WORLD (MPI_Init). Ends the job if a rank has ended that does not: the
  /// others would wait for it.
  virtual void join_world() {}

  /// Where this rank is in its life. With sessions it may come back to be initialised.
  virtual void mark_initialized() = 0;
  virtual void mark_finalized() = 0;

  /// Has these counts reported to the launcher: at the end of this rank's use of MPI, when it aborts, and
  /// whenever publish() is called. Returns whether the launcher wants to know. They live as long as this.
  virtual bool report(const Counters* /*counters*/) { return false; }
  virtual void publish() {}

  /// Hands what this rank leaves behind on to the launcher, which prints it at the end of the job; where
  /// there is none, prints it on standard error.
  virtual void report_leaks(const std::vector<Leak>& /*leaks*/) {}

  /// Called before abort() by a rank that ends because another process has died: returns once the launcher
  /// has had the time to see that for itself, to name the root cause, and to end this job.
  virtual void wait_to_be_ended() {}

  /// Tells the launcher `message` and that the whole job is to end with `exit_code`; ends this process.
  [[noreturn]] virtual void abort(int exit_code, const std::string& message) = 0;

  /// Ends the job: what `endpoint` has written for this rank, or what both write, cannot be right.
  [[noreturn]] void end_damaged(int endpoint, const std::string& what) {
    const std::string whom =
        endpoint < size_ ? "rank " + std::to_string(endpoint) : "a process of another job";
    abort(1, "rank " + std::to_string(rank_) + ": memory shared with " + whom + " is damaged: " + what);
    __builtin_unreachable();  // gcc does not see that a virtual function never returns
  }

 protected:
  /// Of this rank and its job, for what it says.
  Launcher(int rank, int size) : rank_(rank), size_(size) {}

 private:
  int rank_;
  int size_;
};

}  // namespace tasuki

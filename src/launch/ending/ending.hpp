// Ending: how a job ends, and mpiexec's exit status.
//
// Phases, in order: kRunning until the first failure, a signal, the time limit or the last rank's end;
// kExamining while the doctor looks at the ranks of a job that is to end, a few tenths of a second;
// kInterrupting after SIGINT, where the user has sent that; kEnding after SIGTERM; kKilling after SIGKILL.
// What the ranks' programs leave behind is ended in the same way.
//
// A failure ends the worlds that are connected to the failed rank's (connections.hpp). Where others run, or
// the program that is served is not among them, they go on: the phase stays kRunning, and World::course says
// how far the ones that end have come.
//
// It knows neither the doctor nor the event loop: its owner calls it when processes have ended, when due_ns()
// is reached, and with what the doctor found.
//
// Invariants:
//  1. Exactly one message says why connected worlds were ended; what happens to their other ranks afterwards
//     is not reported.
//  2. status() is the exit status of the first failure and does not change any more.
//  3. A phase is never left for an earlier one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/ending/rank_end.hpp"
#include "launch/host/memory_limit.hpp"
#include "launch/host/rank_processes.hpp"
#include "launch/stream/console.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

class Ending {
 public:
  enum class Phase { kRunning, kExamining, kInterrupting, kEnding, kKilling };

  /// `timeout_seconds`: 0: no time limit; it counts from begin_time_limit(). Made before the first rank
  /// starts, since it notes how often memory has run out by then. What it is given outlives it.
  Ending(Worlds& worlds, RankProcesses& processes, Console& console, double timeout_seconds);

  void begin_time_limit();

  Phase phase() const { return phase_; }
  bool job_runs() const { return phase_ == Phase::kRunning; }

  /// mpiexec's exit status as far as it is known.
  int status() const { return status_; }

  /// Whether a user asked for the end, by a signal or a time limit: then mpiexec does not wait for a slow
  /// reader.
  bool hurried() const { return hurried_; }

  /// Notes a failure's exit status; the first one stays.
  void fail_with(int status);

  /// Finds the ranks that have ended. Returns the one whose end ends its world and those connected to it, if
  /// there is one and they were still running: the doctor's look at it leads to say_failure() and
  /// end_failed(). Where all end the phase is kExamining then.
  std::optional<WorldRank> look_for_ended();

  /// Says why they end; end_failed() is to follow. `whereabouts` and `site`: RankEnd's, of the failed rank.
  /// REQUIRES: look_for_ended() has returned a rank, and nothing was said since.
  void say_failure(std::string whereabouts, std::string site);

  /// Begins to end the worlds that are connected to the failed rank's.
  void end_failed();

  /// The same for those connected to `job`, which has ended without a word of its own.
  void end_connected(std::uint64_t job, const std::string& message);

  /// Whether the time limit is over; says so once. The phase is kExamining then, until end_at_time_limit().
  bool take_time_limit(std::int64_t now_ns);

  /// `stand_still`: all ranks are in the calls that were reported already.
  void end_at_time_limit(bool stand_still);

  /// Ends the job for a reason of its own: says `message`, and exits with `status`.
  void end_with(int status, const std::string& message);

  /// SIGINT, SIGTERM or SIGHUP to mpiexec: ends the job, and goes on to the next phase if it is ending
  /// already. SIGINT is passed on to the ranks, which have two seconds to end by it.
  void end_for_signal(int signal);

  /// Begins to end the ranks, without a word, but for a failure that is not said yet.
  void end();

  /// Passes a signal on to the ranks.
  void forward(int signal) const;

  /// When to call meet_deadline() or take_time_limit(), or to ask over() again, at the latest; 0: after an
  /// event only.
  std::int64_t due_ns(std::int64_t now_ns) const;
  void meet_deadline(std::int64_t now_ns);

  /// Whether all is over: the ranks have ended, nothing of theirs is left, and their outputs are closed.
  /// Begins to end what they left behind. `may_grow`: ranks may still be spawned from outside of this job.
  bool over(bool may_grow);

 private:
  void kill();
  bool explain(const WorldRank& failed);
  std::vector<World*> connected_to(std::uint64_t job, bool* others) const;
  void end_worlds(const std::vector<World*>& ending);
  void meet_deadlines_of_worlds(std::int64_t now_ns);
  void wait_for_memory() const;
  void say_untold_failure();
  bool streams_open() const;

  Worlds& worlds_;
  RankProcesses& processes_;
  Console& console_;
  const MemoryLimit memory_limit_;  // as it stood before the ranks
  const double timeout_seconds_;
  Phase phase_ = Phase::kRunning;
  int status_ = 0;
  bool gave_up_ = false;
  bool hurried_ = false;            // a signal or the time limit ended the job
  std::optional<RankEnd> failure_;  // why worlds end, not said yet
  std::vector<World*> failed_;      // by which of them; empty: all
  std::int64_t time_limit_ns_ = 0;  // on the monotonic clock; 0: none
  std::int64_t deadline_ns_ = 0;    // of the present phase; 0: none
};

}  // namespace tasuki::launch

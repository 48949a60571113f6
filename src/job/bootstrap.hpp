// The contract between a rank and whatever started it: who am I, who are my peers, shared job memory,
// and a word to the launcher. local/ implements it for our mpiexec and for a singleton; tests for threads.
//
// Thread safety: each method may be called from one thread of a rank at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/call_board.hpp"
#include "base/config.hpp"
#include "base/statistics.hpp"
#include "job/leak_report.hpp"
#include "job/spawn_request.hpp"
#include "memory/cross_memory.hpp"
#include "memory/global_memory.hpp"

namespace tasuki {

class Transport;

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// The system's number of the process that is `rank`; -1 when unknown, or when it has not come yet.
  virtual int process_id(int /*rank*/) const { return -1; }

  /// On how many nodes this job runs, and on which of them a rank of it is, 0 .. nodes() - 1. Ranks of
  /// different nodes share no memory.
  virtual int nodes() const { return 1; }
  virtual int node(int /*rank*/) const { return 0; }

  /// A number that all processes of this machine have, and none elsewhere. It is found out at the start:
  /// later there may be no descriptor left to read it with, and a rank must not take itself for one
  /// elsewhere.
  virtual std::uint64_t machine() const { return 0; }

  /// The number of the program of an MPMD job that this rank runs (MPI_APPNUM), -1 when unknown.
  virtual int application_number() const { return -1; }

  /// The table of the machine's parameters, in JSON, that the launcher has read for all ranks alike; empty:
  /// they take the built-in ones; null: it read none.
  virtual const char* tuning_table() const { return nullptr; }

  /// MPI_UNIVERSE_SIZE: ranks that could run here; at least size().
  virtual int universe_size() const { return size(); }

  /// A random number that no other job has (0 where there is one job only): it keeps jobs that meet apart.
  virtual std::uint64_t job_id() const { return 0; }

  /// The port at which those who spawned this job wait for it (MPI 11.8.2); empty: nobody did.
  virtual std::string parent_port() const { return {}; }

  /// Has a launcher start more ranks, as a job of their own (MPI 11.8). Returns false and the reason in
  /// `error` when it did not. Blocks without progress: the launcher waits for no rank.
  virtual bool spawn(const SpawnRequest& /*request*/, std::string* error) {
    *error = "whatever started this program cannot start others for it";
    return false;
  }

  /// Whether the launcher of this program's spawns has ended, and with it what it had started.
  virtual bool launcher_gone() { return false; }

  /// Processors that this rank's node offers to the job's ranks (affinity and cgroup quota), at least 1.
  virtual int processors_available() const = 0;

  /// Where ranks share processors: the one that is this rank's share. It may run elsewhere. -1: none is.
  virtual int home_processor() const { return -1; }

  /// Makes the transport among the ranks of this job. Called once.
  virtual std::unique_ptr<Transport> make_transport(const Config& config) = 0;

  /// What this rank shares with the ranks of this job, as far as it does. Called once.
  virtual std::unique_ptr<GlobalMemory> make_global_memory() { return make_private_memory(); }

  /// Memory that all ranks of this job on this machine map, RangeTable::bytes_needed(size()) of it, aligned
  /// to 64 and zero at first: the locks of file ranges. Null where there is none.
  virtual std::byte* file_locks() { return nullptr; }

  /// The process of a rank of this job, where it is known: once it has sent something, it is.
  virtual ProcessMark process_of(int /*rank*/) const { return {}; }

  /// Where this rank says what it is in: memory that the launcher reads; private memory where nobody does.
  virtual CallBoard& board() {
    if (own_board_ == nullptr) own_board_ = std::make_unique<CallBoard>();
    return *own_board_;
  }

  /// Says on the board which files hold this program's code, for whoever is to find source lines; the line
  /// shows the call that starts MPI. And lets the launcher look at this process' stack.
  virtual void publish_program() {}

  /// Tells the launcher that this rank takes part in MPI_COMM_WORLD (MPI_Init). Ends the job if a rank has
  /// ended that does not: the others would wait for it.
  virtual void join_world() {}

  /// Tells the launcher where this rank is in its life. With sessions it may come back to be initialised.
  virtual void mark_initialized() = 0;
  virtual void mark_finalized() = 0;

  /// Has these counts reported to the launcher: at the end of this rank's use of MPI, when it aborts, and
  /// whenever publish() is called. Returns whether the launcher wants to know. They live as long as this.
  virtual bool report(const Counters* /*counters*/) { return false; }
  virtual void publish() {}

  /// Hands what this rank leaves behind on to the launcher, which tells it at the end of the job; where there
  /// is none, tells it on standard error.
  virtual void tell_leaks(const std::vector<Leak>& /*leaks*/) {}

  /// Called before abort() by whoever ends because another process has died: returns once the launcher has
  /// had the time to see that for itself, to tell of it, and to end this job.
  virtual void leave_to_launcher() {}

  /// Tells the launcher `message` and that the whole job is to end with `exit_code`; ends this process.
  [[noreturn]] virtual void abort(int exit_code, const std::string& message) = 0;

  /// Ends the job: what `endpoint` has written for this rank, or what both write, cannot be right.
  [[noreturn]] void end_damaged(int endpoint, const std::string& what) {
    const std::string whom =
        endpoint < size() ? "rank " + std::to_string(endpoint) : "a process of another job";
    abort(1, "rank " + std::to_string(rank()) + ": memory shared with " + whom + " is damaged: " + what);
    __builtin_unreachable();  // gcc does not see that a virtual function never returns
  }

 private:
  std::unique_ptr<CallBoard> own_board_;
};

}  // namespace tasuki

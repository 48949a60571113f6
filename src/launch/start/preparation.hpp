// Preparation: everything of a world that can go wrong before a process is made: its programs, environments,
// job segment, and plan of processors. So a misspelt program costs nothing.
//
// One for all worlds of a job, since they share the table of tuning parameters that the first program named.
// One thread. What it is given outlives it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "launch/options/options.hpp"
#include "launch/report/reports.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

/// Why something was not started, and mpiexec's exit status for that.
struct Refusal {
  std::string text;
  int status = 1;
};

/// "cannot run 'ring' for rank 0: No such file or directory", with `detail` behind it. `error`: an errno.
Refusal cannot_run(int rank, const std::string& program, int error, const std::string& detail);

class Preparation {
 public:
  /// `launcher_id`: RankProcesses::launcher_id().
  Preparation(const Options& options, Reports& reports, std::string launcher_id)
      : options_(options), reports_(reports), launcher_id_(std::move(launcher_id)) {}

  /// The name of the socket at which ranks ask for more; empty: no rank can spawn. Before prepare().
  void set_spawn_socket(std::string name) { spawn_socket_ = std::move(name); }

  /// The hosts that ranks may be started on, and their slots; 0: as many as this one has processors.
  void set_family(int hosts, int slots) {
    family_hosts_ = hosts;
    family_slots_ = slots;
  }
  int family_hosts() const { return family_hosts_; }
  int family_slots() const { return family_slots_; }

  /// The table of tuning parameters that the mpiexec has read whose agent this is.
  void take_tuning(bool has, std::string text) {
    has_tuning_ = has;
    tuning_ = std::move(text);
    asked_installation_ = true;
  }
  bool has_tuning() const { return has_tuning_; }
  const std::string& tuning() const { return tuning_; }

  /// Makes the world ready to be started. REQUIRES: it has its number, from Worlds::next_number(), its
  /// placement, and its applications, of 1 to kRanksMax ranks together. Its note may say what to tell the
  /// user. `job_id`: that of the job's part on another host, or 0. Returns false, and why, when it cannot be.
  bool prepare(World* world, Refusal* refusal, std::uint64_t job_id = 0);

 private:
  void hand_on_tuning(World* world);
  void find_tuning(World* world);
  void read_tuning(const RankEnvironment& first);
  bool find_programs(World* world, Refusal* refusal) const;
  void choose_mpi_library(World* world) const;
  void choose_heap(const Application& application, int ranks, const char* path,
                   RankEnvironment* environment) const;
  bool make_segment(World* world, std::uint64_t job_id, Refusal* refusal) const;
  void plan_processors(World* world) const;

  const Options& options_;
  Reports& reports_;
  const std::string launcher_id_;
  std::string spawn_socket_;
  int family_hosts_ = 1;
  int family_slots_ = 0;
  bool has_tuning_ = false;  // an application names a table of parameters, or this installation has one
  std::string tuning_;       // its text: tuning/table.hpp
  bool asked_installation_ = false;  // for its table, or another mpiexec has
};

/// What --report-bindings prints: a line for each rank, without the last one's end. `host`: this machine's
/// name; `nodes`: how many virtual nodes there are. REQUIRES: it is prepared.
std::string bindings_text(World& world, const std::string& host, int nodes);

}  // namespace tasuki::launch

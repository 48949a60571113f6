// Connections: the graph of connected jobs (MPI 11.10.4). A failure ends the jobs that are connected to the
// failed job, and no others. A job is a world of this mpiexec, the program that it serves, or a job of
// another mpiexec that a rank has named. Jobs are identified by JobHeader::job_id.
//
// Each rank reports the jobs that its job is connected to. Reports of the two sides arrive one after the
// other. A connection begins with the first report of either side, and ends when either side, having reported
// it, reports that it is gone. So a rank that has returned from MPI_Comm_disconnect may end in any way. A
// spawned job is connected to its spawner until all its ranks have reported.
//
// Pure. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "job/spawn_request.hpp"

namespace tasuki::launch {

class Connections {
 public:
  /// `spawner` has spawned `child`, a job of `ranks` ranks.
  void spawned(std::uint64_t spawner, std::uint64_t child, int ranks);

  /// Takes the report of one rank.
  void take(const ConnectionReport& report);

  /// The job has ended: removes its connections.
  void forget(std::uint64_t job);

  /// Returns `job` and all jobs connected to it, directly or through others.
  std::set<std::uint64_t> of(std::uint64_t job) const;

 private:
  struct Job {
    std::map<std::int32_t, std::set<std::uint64_t>> now;  // last report of each rank
    std::set<std::uint64_t> ever;                         // union of all reports
    std::uint64_t spawner = 0;
    int ranks = 0;  // of a spawned job
    bool over = false;
  };
  enum class Says { kNever, kNow, kNoMore };

  Says says(std::uint64_t one, std::uint64_t other) const;
  bool is_spawning(std::uint64_t spawner, std::uint64_t child) const;
  bool is_connected(std::uint64_t one, std::uint64_t other) const;

  std::map<std::uint64_t, Job> jobs_;
};

}  // namespace tasuki::launch

// Connections: which jobs are connected (MPI 11.10.4), so that a failure ends those that are connected to the
// failed one, and no others. A job is a world of this mpiexec, the program that it serves, or, where ranks
// name one that is neither, a job of another mpiexec. Jobs are known by their numbers (JobHeader::job_id).
//
// Two jobs are connected while ranks of both say so. When they meet, and when they part, one side says it
// first: before the other has ever said it, one side is enough; afterwards the first to part ends it. So a
// rank that has returned from MPI_Comm_disconnect may end however it likes. What is spawned is connected
// until all of its ranks have spoken.
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
  /// `spawner` has spawned `child`, which has so many ranks.
  void spawned(std::uint64_t spawner, std::uint64_t child, int ranks);

  /// What a rank says of itself.
  void take(const ConnectionReport& report);

  /// The job is over: it connects nothing any more.
  void forget(std::uint64_t job);

  /// The jobs that are connected to `job`, directly or through others, and itself.
  std::set<std::uint64_t> of(std::uint64_t job) const;

 private:
  struct Job {
    std::map<std::int32_t, std::set<std::uint64_t>> now;  // what each rank that has spoken says
    std::set<std::uint64_t> ever;                         // what any has ever said
    std::uint64_t spawner = 0;
    int ranks = 0;  // of a spawned one
    bool over = false;
  };
  enum class Says { kNever, kNow, kNoMore };

  Says says(std::uint64_t one, std::uint64_t other) const;
  bool is_spawning(std::uint64_t spawner, std::uint64_t child) const;
  bool is_connected(std::uint64_t one, std::uint64_t other) const;

  std::map<std::uint64_t, Job> jobs_;
};

}  // namespace tasuki::launch

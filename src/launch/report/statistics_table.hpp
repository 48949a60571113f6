// mpiexec --stats: what the ranks reported of their messages, as a table or as JSON. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/variables/statistics.hpp"
#include "launch/options/options.hpp"

namespace tasuki::launch {

struct RankStatistics {
  std::string name;      // "3", or of the second spawn "2.3"
  bool started = false;  // it has used MPI
  RunStatistics counts;
};

struct JobStatistics {
  static constexpr std::size_t kRanksListed = 4096;

  std::vector<RankStatistics> ranks;
  RunStatistics more{.finished = 1};       // of ranks beyond those listed: a program may spawn for ever
  std::uint64_t more_ranks = 0;            //
  std::uint64_t shared_bytes = 0;          // of the job's shared memory, in which the rings lie
  std::uint64_t shared_bytes_touched = 0;  // and how much of it was ever written to

  void add(RankStatistics rank);
};

/// REQUIRES: form != kNone. `bold`: for a terminal.
std::string statistics_text(StatisticsForm form, const JobStatistics& job, bool bold);

}  // namespace tasuki::launch

// RunStatistics: what a rank reports of its run to mpiexec --stats. An extract of its Counters that lies in
// the job segment, written whole now and then by the rank and read by mpiexec, also when the rank has died.
//
// Thread safety: store() and load() go number by number, relaxed: a reader may see some numbers of one report
// and some of the next one, which count a few messages more.
#pragma once

#include <cstdint>

#include "base/variables/counters.hpp"

namespace tasuki {

/// What a rank's malloc() gives.
enum class HeapKind : std::uint64_t { kUnknown, kPrivate, kGlobal };

struct RunStatistics {
  WayTraffic ways[kWays] = {};
  std::uint64_t running_ns = 0;  // from the start of MPI_Init (or MPI_Session_init) to the end of MPI's use
  std::uint64_t unexpected_bytes_highest = 0;
  std::uint64_t sends_set_aside = 0;
  std::uint64_t line_changes = 0;
  std::uint64_t ranks_of_far_lines = 0;
  std::uint64_t unexpected_messages_highest = 0;
  std::uint64_t collectives = 0;
  std::uint64_t polls = 0;
  std::uint64_t sleeps = 0;
  std::uint64_t asleep_ns = 0;
  std::uint64_t errors = 0;
  std::uint64_t heap = 0;      // a HeapKind
  std::uint64_t finished = 0;  // 1: this is the whole run

  const WayTraffic& of(Way way) const { return ways[static_cast<int>(way)]; }

  /// All ways together.
  WayTraffic all() const;

  /// Adds those of another rank: times and highest values are the larger of the two.
  void add(const RunStatistics& other);
};
static_assert(sizeof(RunStatistics) % sizeof(std::uint64_t) == 0);

RunStatistics statistics_of(const Counters& counters);

void store(const RunStatistics& from, RunStatistics* shared);
RunStatistics load(const RunStatistics& shared);

}  // namespace tasuki

// Phase times: when a rank was in which phase of its collective accesses to files: reading, exchanging,
// writing, cycle by cycle. The sums are counters (base/variables/counters.hpp), and so performance variables
// of MPI_T; where the user wants to see them one by one they are kept (io/file/phase_spans.hpp).
//
// A collective access is noted twice, begin_collective() and end_collective(), and each phase of it once in
// between, as it ends. Phases may overlap.
//
// Thread safety: the process lock.
#pragma once

#include <cstdint>

#include "base/calls/call_board.hpp"
#include "base/process.hpp"
#include "base/system/clock.hpp"
#include "base/types.hpp"

namespace tasuki {

struct File;

enum class Phase : std::uint8_t { kRead, kExchange, kWrite };

/// What a phase belongs to.
struct PhasePlace {
  std::uint64_t file = 0;  // a number of the file's, alike at all its ranks
  std::uint32_t call = 0;  // of the collective accesses to it, from 0
  std::uint32_t cycle = 0;
};

/// How a collective access of this rank went.
struct CollectiveOutcome {
  bool two_phase = false;
  int aggregator = -1;  // this rank's number among the aggregators; -1: it was none
  Count cycles = 0;     // of two phases
  Count bytes = 0;      // of this rank's data in the file
};

/// Counts a collective access to the file, which all its ranks begin. Returns its place, of cycle 0.
PhasePlace begin_collective(File& file);

/// One phase of one cycle, from `begin_ns` (clock_ns()) until now: `bytes` were moved. An access that each
/// rank does by itself is one phase of cycle 0.
void note_phase(Process& process, const PhasePlace& place, Phase phase, std::int64_t begin_ns, Count bytes);

/// The end of the access that `call` began at `begin_ns`.
void end_collective(File& file, const PhasePlace& place, Function call, std::int64_t begin_ns,
                    const CollectiveOutcome& outcome);

/// Begins to keep the spans of phases where the settings say so (TASUKI_IO_TIMES).
void keep_phase_spans(Process& process);
/// Has those written that are kept: of all accesses that have ended.
void write_phase_spans(Process& process);

}  // namespace tasuki

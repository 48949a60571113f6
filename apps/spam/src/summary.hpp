// DIRECTORY/run.json: what ran, how long its phases took on each rank, and how the load was spread. `spam
// sweep` and the benchmarks read it.
//
// - "format": "spam-run-1", "input", "library", "ranks", "threads", "engine", "mapping", "remap_interval",
//   "halo", "schedule", "chunks_per_thread", "update", "sorting", "particles", "columns", "rows", "steps":
//   what ran; "mapping" as it was written: "cyclic(4)".
// - "seconds": the steps' time without remapping and output, as the paper counts, of the slowest rank.
// - "phases": {"force": [by rank], …} in seconds, of all steps (phases.hpp has the names).
// - "pairs", "candidates": [by rank], "pairs_by_thread": [[by thread] by rank]: per step, that
//   is in four stages.
// - "messages", "message_bytes": [by rank], of the halo, per step.
// - "cache": null, or {"source", "references", "misses", "lost", "transactions"} of the
//   force loops (cache.hpp), by rank, in all steps.
// - "particles_by_rank": [by rank], at the end.
// - "first", "last": {"particles", "kinetic", "potential", "heat", "momentum_x", "momentum_y"}.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "cache.hpp"
#include "domain.hpp"
#include "force.hpp"
#include "halo.hpp"
#include "phases.hpp"
#include "settings.hpp"
#include "totals.hpp"

namespace spam {

struct RunRecord {
  std::int64_t steps = 0;            // done in this run
  double pairs = 0, candidates = 0;  // of this rank, in all of them
  std::vector<double> pairs_by_thread;
  Halo::Sent sent;
  std::optional<CacheCounts> cache;  // of this rank's force loops, in all steps
  Totals first, last;
};

/// Collective; rank 0 writes. Throws Error on all ranks if it cannot.
void write_summary(MPI_Comm comm, const Settings& settings, const Domain& domain, const Phases& phases,
                   const RunRecord& record);

}  // namespace spam

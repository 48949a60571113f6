// DIRECTORY/run.json: what ran, how long its phases took on each rank, and how the load was spread. `spam
// sweep` and the benchmarks read it.
//
//   {"format": "spam-run-1", "input": "paper.toml", "library": "...", "ranks": 4, "threads": 1,
//    "engine": "blocked", "mapping": "cyclic(4)", "halo": "messages", "schedule": …, "update": …, "sorting":
//    …, "particles": 43200, "columns": 516, "rows": 5, "steps": 50, "seconds": 1.23, the steps, without
//    remapping and output, as the paper counts; the slowest rank "phases": {"force": [by rank], …}, seconds
//    in all steps "pairs": [by rank], "candidates": [by rank],    per step (four stages) "pairs_by_thread":
//    [[by thread] by rank],       per step "particles_by_rank": [at the end], "messages": [by rank],
//    "message_bytes": [by rank],   per step, of the halo "first": {totals}, "last": {totals}} particles,
//    kinetic, potential, heat, momentum_x, momentum_y
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

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
  Totals first, last;
};

/// Collective; rank 0 writes. Throws Error on all ranks if it cannot.
void write_summary(MPI_Comm comm, const Settings& settings, const Domain& domain, const Phases& phases,
                   const RunRecord& record);

}  // namespace spam

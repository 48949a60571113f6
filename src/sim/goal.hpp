// Writes the schedules of a job in GOAL, the language that LogGOPSim and ATLAHS read: a second opinion.
//
//   num_ranks 2
//   rank 0 {
//   l0: send 16384b to 1 tag 0 cpu 0 nic 0
//   l1: calc 0
//   l1 requires l0
//   }
//
// Reductions and copies are calc, in nanoseconds of this job's rates. By rounds, a calc of 0 stands for the
// end of each round: it requires the round's steps, and the next round's steps require it. By data, a step
// requires those that it waits for. The costs of messages are the reader's: L, o, g, G.
#pragma once

#include <cstdio>

#include "sim/run.hpp"

namespace tasuki::sim {

/// Returns how many messages were written; less than 0: `out` took no more.
double write_goal(const Job& job, std::FILE* out);

}  // namespace tasuki::sim

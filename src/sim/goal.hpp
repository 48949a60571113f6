// Writes the schedules of a job in GOAL, the language that LogGOPSim and ATLAHS read: a second opinion.
//
//   num_ranks 2
//   rank 0 {
//   l0: send 16384b to 1 tag 0 cpu 0 nic 0
//   l1: calc 0 cpu 0
//   l1 requires l0
//   }
//
// Reductions and copies are calc, in nanoseconds of this job's rates. By rounds, a calc of 0 stands for the
// end of each round: it requires the round's steps, and the next round's steps require it. By data, a step
// requires those that it waits for. The costs of messages are the reader's: L, o, g, G.
//
// The binary form is that which LogGOPSim's txt2bin makes of the text, and which its simulator and ATLAHS's
// read; it has no number of a version but a magic one. All numbers are little endian, without gaps:
//
//   u64 4223; u32 ranks; u8 highest cpu; u8 highest nic; for each rank u64 begin, u64 end of its part,
//   counted from behind the 4223. A part: u32 operations, u32 those that require nothing, u32 number of each
//   of these; the operations; u32 for each edge the number of the operation that waits. An operation (39
//   bytes): u32 how many it requires; u8 1 send, 2 recv, 3 calc; u32 peer; u64 bytes or ns; u32 tag; u8 cpu;
//   u8 nic; u32 how many wait for its end, u32 the first of these among the edges; u32 how many wait for its
//   start, u32 the first of these.
#pragma once

#include <cstdio>

#include "sim/run.hpp"

namespace tasuki::sim {

enum class GoalForm : std::uint8_t { kText, kBinary };

/// Returns how many messages were written; less than 0: `out` took no more. `out` can be sought in.
double write_goal(const Job& job, GoalForm form, std::FILE* out);

}  // namespace tasuki::sim

// What the benchmark programs share: how long a batch is, and a line of JSON for each row on rank 0's stdout.
//
// A program measures each of its rows in several batches of rounds, so that bench/run.py can take the best or
// the median over batches and over its own rounds of programs. Plain MPI; one thread.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "shared_pair.h"

namespace bench {

inline constexpr int kBatches = 7;
inline constexpr double kBatchSeconds = 0.01;
inline constexpr int kRoundsMax = 50000;

struct Place {
  int rank = 0, size = 1;
  explicit Place(MPI_Comm comm) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
};

/// How many rounds fill a batch, from a trial of one round's seconds; rank 0's word counts for all of `comm`.
inline int rounds_for(double round_seconds, int rounds_min, MPI_Comm comm) {
  int rounds = static_cast<int>(std::min<double>(kRoundsMax, kBatchSeconds / (round_seconds + 1e-9)));
  rounds = std::max(rounds, rounds_min);
  MPI_Bcast(&rounds, 1, MPI_INT, 0, comm);
  return rounds;
}

/// Runs `batch(rounds)`, which returns seconds an operation, kBatches times after a trial that also warms up.
template <class Batch>
std::vector<double> batches(int rounds_trial, int rounds_min, MPI_Comm comm, Batch batch) {
  batch(rounds_trial);
  const int rounds = rounds_for(batch(rounds_trial), rounds_min, comm);
  std::vector<double> seconds;
  for (int i = 0; i < kBatches; ++i) seconds.push_back(batch(rounds));
  return seconds;
}

/// One row: {"row": "pingpong", "bytes": 8, "touched": false, "ranks": 2, "seconds": [...]}.
inline void report(const char* row, std::size_t bytes, bool touched, int ranks,
                   const std::vector<double>& seconds) {
  std::printf("{\"row\": \"%s\", \"bytes\": %zu, \"touched\": %s, \"ranks\": %d, \"seconds\": [", row, bytes,
              touched ? "true" : "false", ranks);
  for (std::size_t i = 0; i < seconds.size(); ++i) std::printf("%s%.4e", i == 0 ? "" : ", ", seconds[i]);
  std::printf("]}\n");
  std::fflush(stdout);
}

/// The sizes of the ping-pong and of its limit; from kTouchedBytes on both touched and untouched.
inline constexpr std::size_t kSizes[] = {0,        8,         64,      512,     4 << 10, 16 << 10,
                                         64 << 10, 256 << 10, 1 << 20, 4 << 20, 8 << 20};
inline constexpr std::size_t kBytesMax = 8 << 20;
inline constexpr std::size_t kTouchedBytes = 4 << 10;

/// The strided message: 1 MiB in blocks of 4 KiB, a block every 8 KiB.
inline constexpr std::size_t kVectorBlockBytes = 4 << 10, kVectorStrideBytes = 8 << 10, kVectorBlocks = 256;
inline constexpr std::size_t kVectorBytes = kVectorBlocks * kVectorBlockBytes;

}  // namespace bench

// The limits: what two processes do without MPI (shared_pair.h), for the same rows. A message by one memcpy
// and a flag: "push" when the sender copies, "pull" when the receiver does, "both" when each copies a half; a
// burst of lines; one copy of a strided megabyte; and the copies of the collectives that only move data, as
// soon as both have come, each rank its share.
#include <string_view>

#include "measure.hpp"
#include "operations.hpp"

namespace {

void one_way(SharedPair& pair, const bench::Place& place) {
  for (const bool touched : {false, true}) {
    for (const std::size_t bytes : bench::kSizes) {
      if (touched && bytes < bench::kTouchedBytes) continue;
      for (const CopyMode mode : {kPush, kPull, kBoth}) {
        if (mode != kPush && bytes < 512) continue;
        const auto seconds = bench::batches(bytes < 65536 ? 200 : 4, 10, MPI_COMM_WORLD, [&](int rounds) {
          return pair_one_way_seconds(&pair, bytes, rounds, mode, touched);
        });
        if (place.rank == 0) bench::report(kCopyModes[mode], bytes, touched, place.size, seconds);
      }
    }
  }
}

/// Both copy every other block of bench::kVector, straight from buffer to buffer.
double strided(SharedPair& pair, int rounds) {
  const int rank = pair.rank;
  pair_meet(&pair);
  const double begin = now_seconds();
  for (int round = 0; round < rounds; ++round) {
    for (const int from : {0, 1}) {
      const std::uint64_t turn = ++pair.turn;
      if (rank == from) pair_set(pair_line(&pair, 1 - rank, 1), turn);
      if (rank != from) pair_await(pair_line(&pair, rank, 1), turn);
      for (std::size_t block = rank == from ? 0 : 1; block < bench::kVectorBlocks; block += 2) {
        const std::size_t at = block * bench::kVectorStrideBytes;
        std::memcpy(pair_in(&pair, 1 - from) + at, pair_out(&pair, from) + at, bench::kVectorBlockBytes);
      }
      pair_set(pair_line(&pair, 1 - rank, 2), turn);
      pair_await(pair_line(&pair, rank, 2), turn);
    }
  }
  return (now_seconds() - begin) / rounds / 2;
}

/// Rank 0's bytes into rank 1's buffer, half by each, then both meet. Seconds of one.
double put_and_meet(SharedPair& pair, std::size_t bytes, int rounds) {
  const std::size_t half = bytes / 2 / kLineBytes * kLineBytes;
  const std::size_t begin = pair.rank == 0 ? 0 : half;
  const std::size_t end = pair.rank == 0 ? half : bytes;
  pair_meet(&pair);
  const double start = now_seconds();
  for (int round = 0; round < rounds; ++round) {
    if (end > begin) std::memcpy(pair_in(&pair, 1) + begin, pair_out(&pair, 0) + begin, end - begin);
    pair_meet(&pair);
  }
  return (now_seconds() - start) / rounds;
}

void fences(SharedPair& pair, const bench::Place& place) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{4} << 20}) {
    const auto seconds = bench::batches(bytes < 65536 ? 200 : 4, 10, MPI_COMM_WORLD,
                                        [&](int rounds) { return put_and_meet(pair, bytes, rounds); });
    if (place.rank == 0) bench::report(bytes == 0 ? "fence" : "put_fence", bytes, false, place.size, seconds);
  }
}

/// What one rank copies in a collective among two, whose root is rank 0.
void copy_share(SharedPair& pair, std::string_view row, std::size_t bytes) {
  const int rank = pair.rank;
  const std::size_t block = static_cast<std::size_t>(rank) * bytes;
  if (row == "bcast") {
    const std::size_t half = bytes / 2;
    const std::size_t begin = static_cast<std::size_t>(rank) * half;
    std::memcpy(pair_in(&pair, 1) + begin, pair_out(&pair, 0) + begin, rank == 0 ? half : bytes - half);
  } else if (row == "gather") {
    std::memcpy(pair_in(&pair, 0) + block, pair_out(&pair, rank), bytes);
  } else if (row == "scatter") {
    std::memcpy(pair_in(&pair, rank), pair_out(&pair, 0) + block, bytes);
  } else {  // allgather, alltoall
    for (const int from : {rank, 1 - rank}) {
      std::memcpy(pair_in(&pair, rank) + static_cast<std::size_t>(from) * bytes,
                  pair_out(&pair, from) + (row == "alltoall" ? block : 0), bytes);
    }
  }
}

void collectives(SharedPair& pair, const bench::Place& place) {
  for (const bench::Operation& operation : bench::kOperations) {
    const std::string_view row = operation.name;
    if (row != "bcast" && row != "gather" && row != "scatter" && row != "allgather" && row != "alltoall")
      continue;
    for (const std::size_t bytes : operation.sizes) {
      const auto seconds = bench::batches(bytes < 65536 ? 200 : 4, 10, MPI_COMM_WORLD, [&](int rounds) {
        pair_meet(&pair);
        const double begin = now_seconds();
        for (int round = 0; round < rounds; ++round) {
          copy_share(pair, row, bytes);
          pair_meet(&pair);
        }
        return (now_seconds() - begin) / rounds;
      });
      if (place.rank == 0) bench::report(operation.name, bytes, false, place.size, seconds);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bench::Place place(MPI_COMM_WORLD);
  SharedPair pair;
  if (place.size != 2 || pair_open(&pair, bench::kBytesMax, MPI_COMM_WORLD) != 0) {
    std::fprintf(stderr, "limit: %d ranks, expected 2 with shared memory\n", place.size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  one_way(pair, place);
  const auto stream = bench::batches(200, 10, MPI_COMM_WORLD,
                                     [&](int rounds) { return pair_stream_seconds(&pair, 64, rounds); });
  if (place.rank == 0) bench::report("burst", 8, false, place.size, stream);
  const auto vector =
      bench::batches(10, 10, MPI_COMM_WORLD, [&](int rounds) { return strided(pair, rounds); });
  if (place.rank == 0) bench::report("vector", bench::kVectorBytes, false, place.size, vector);
  fences(pair, place);
  collectives(pair, place);
  pair_close(&pair);
  MPI_Finalize();
  return 0;
}

// The limit of the ping-pong: the same rows by two processes with a flag and one memcpy a message, without
// MPI (shared_pair.h); "push" when the sender copies, "pull" when the receiver does. What does not fit the
// flag's own line is measured with touched buffers only: bytes that nobody writes or reads stay in one cache
// and never move.
#include "measure.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bench::Place place(MPI_COMM_WORLD);
  SharedPair pair;
  if (place.size != 2 || pair_open(&pair, bench::kBytesMax, MPI_COMM_WORLD) != 0) {
    std::fprintf(stderr, "limit: %d ranks, expected 2 with shared memory\n", place.size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (const bool touched : {false, true}) {
    for (const std::size_t bytes : bench::kSizes) {
      if (touched != (bytes >= bench::kTouchedBytes)) continue;
      if (!touched && bytes > sizeof(std::uint64_t)) continue;
      for (const CopyMode mode : {kPush, kPull}) {
        const auto seconds = bench::batches(bytes < 65536 ? 200 : 4, 10, MPI_COMM_WORLD, [&](int rounds) {
          return pair_one_way_seconds(&pair, bytes, rounds, mode, touched);
        });
        if (place.rank == 0)
          bench::report(mode == kPush ? "push" : "pull", bytes, touched, place.size, seconds);
      }
    }
  }
  pair_close(&pair);
  MPI_Finalize();
  return 0;
}

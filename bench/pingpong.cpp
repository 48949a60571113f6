// The ping-pong: MPI_Send and MPI_Recv between ranks 0 and 1; seconds of one message one way. From 4 KiB on
// twice: with buffers that nobody touches, and with buffers that their owners write and read between the
// rounds (that time is not counted).
#include "measure.hpp"

namespace {

double round_trips(SharedPair& pair, std::size_t bytes, int rounds, bool touched, unsigned char* out,
                   unsigned char* in) {
  const int count = static_cast<int>(bytes), peer = 1 - pair.rank;
  volatile std::uint64_t sink = 0;
  double seconds = 0;
  pair_meet(&pair);
  double begin = now_seconds();
  for (int round = 0; round < rounds; ++round) {
    if (touched) {
      sink = sink + touch(out, in, bytes, round);
      pair_meet(&pair);
      begin = now_seconds();
    }
    if (pair.rank == 0) MPI_Send(out, count, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    MPI_Recv(in, count, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (pair.rank == 1) MPI_Send(out, count, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    if (touched) seconds += now_seconds() - begin;
  }
  if (!touched) seconds = now_seconds() - begin;
  return seconds / rounds / 2;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bench::Place place(MPI_COMM_WORLD);
  SharedPair pair;
  if (place.size != 2 || pair_open(&pair, bench::kBytesMax, MPI_COMM_WORLD) != 0) {
    std::fprintf(stderr, "pingpong: %d ranks, expected 2 with shared memory\n", place.size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  std::vector<unsigned char> out(bench::kBytesMax, 1), in(bench::kBytesMax, 2);
  for (const bool touched : {false, true}) {
    for (const std::size_t bytes : bench::kSizes) {
      if (touched && bytes < bench::kTouchedBytes) continue;
      const auto seconds = bench::batches(bytes < 65536 ? 200 : 4, 10, MPI_COMM_WORLD, [&](int rounds) {
        return round_trips(pair, bytes, rounds, touched, out.data(), in.data());
      });
      if (place.rank == 0) bench::report("pingpong", bytes, touched, place.size, seconds);
    }
  }
  pair_close(&pair);
  MPI_Finalize();
  return 0;
}

// The ping-pong: MPI_Send and MPI_Recv between ranks 0 and 1; seconds of one message one way. From 4 KiB on
// twice: with buffers that nobody touches, and with buffers that their owners write before and read after,
// the time of which is counted. Buffers come from malloc. With more than two ranks the others do the same in
// pairs (2 with 3, ...), for short messages only.
#include <cstdlib>

#include "measure.hpp"

namespace {

double round_trips(int rank, std::size_t bytes, int rounds, bool touched, unsigned char* out,
                   unsigned char* in) {
  const int count = static_cast<int>(bytes), peer = rank ^ 1;
  volatile std::uint64_t sink = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now_seconds();
  for (int round = 0; round < rounds; ++round) {
    if (touched) touch_out(out, bytes, round);
    if (rank % 2 == 0) MPI_Send(out, count, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    MPI_Recv(in, count, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank % 2 == 1) MPI_Send(out, count, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    if (touched) sink = sink + touch_in(in, bytes);
  }
  return (now_seconds() - begin) / rounds / 2;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bench::Place place(MPI_COMM_WORLD);
  if (place.size % 2 != 0) {
    std::fprintf(stderr, "pingpong: %d ranks, expected an even number\n", place.size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  std::vector<std::size_t> sizes(std::begin(bench::kSizes), std::end(bench::kSizes));
  if (argc > 1) sizes.clear();
  for (int i = 1; i < argc; ++i) {
    sizes.push_back(std::min<std::size_t>(std::strtoull(argv[i], nullptr, 10), bench::kBytesMax));
  }
  auto* out = static_cast<unsigned char*>(std::malloc(bench::kBytesMax));
  auto* in = static_cast<unsigned char*>(std::malloc(bench::kBytesMax));
  std::memset(out, 1, bench::kBytesMax);
  std::memset(in, 2, bench::kBytesMax);
  for (const bool touched : {false, true}) {
    for (const std::size_t bytes : sizes) {
      if (touched && bytes < bench::kTouchedBytes && argc == 1) continue;
      if (place.size > 2 && bytes != 8) continue;
      const auto seconds = bench::batches(bytes < 65536 ? 200 : 4, 10, MPI_COMM_WORLD, [&](int rounds) {
        return round_trips(place.rank, bytes, rounds, touched, out, in);
      });
      if (place.rank == 0) bench::report("pingpong", bytes, touched, place.size, seconds);
    }
  }
  std::free(in);
  std::free(out);
  MPI_Finalize();
  return 0;
}

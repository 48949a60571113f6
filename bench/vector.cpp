// A strided message: the ping-pong with a vector type at both ends. Seconds of one message one way.
#include <cstdlib>

#include "measure.hpp"

namespace {

double round_trips(int rank, int rounds, MPI_Datatype type, const unsigned char* out, unsigned char* in) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now_seconds();
  for (int round = 0; round < rounds; ++round) {
    if (rank == 0) MPI_Send(out, 1, type, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(in, 1, type, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(out, 1, type, 0, 0, MPI_COMM_WORLD);
  }
  return (now_seconds() - begin) / rounds / 2;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bench::Place place(MPI_COMM_WORLD);
  if (place.size != 2) {
    std::fprintf(stderr, "vector: %d ranks, expected 2\n", place.size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  constexpr std::size_t kExtentBytes = bench::kVectorBlocks * bench::kVectorStrideBytes;
  auto* out = static_cast<unsigned char*>(std::malloc(kExtentBytes));
  auto* in = static_cast<unsigned char*>(std::malloc(kExtentBytes));
  std::memset(out, 1, kExtentBytes);
  std::memset(in, 2, kExtentBytes);
  MPI_Datatype type;
  MPI_Type_vector(static_cast<int>(bench::kVectorBlocks), static_cast<int>(bench::kVectorBlockBytes),
                  static_cast<int>(bench::kVectorStrideBytes), MPI_BYTE, &type);
  MPI_Type_commit(&type);
  const auto seconds = bench::batches(
      10, 10, MPI_COMM_WORLD, [&](int rounds) { return round_trips(place.rank, rounds, type, out, in); });
  if (place.rank == 0) bench::report("vector", bench::kVectorBytes, false, place.size, seconds);
  MPI_Type_free(&type);
  std::free(in);
  std::free(out);
  MPI_Finalize();
  return 0;
}

// Message rate: rank 0 starts 64 sends of 8 bytes before it waits for any, rank 1 has posted 64 receives; a
// short answer closes the round. Seconds a message.
#include "measure.hpp"

namespace {

constexpr int kOutstanding = 64;

double bursts(int rank, int rounds) {
  MPI_Request requests[kOutstanding];
  std::int64_t words[kOutstanding] = {};
  char answer = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now_seconds();
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < kOutstanding; ++i) {
      if (rank == 0) MPI_Isend(&words[i], 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
      if (rank == 1) MPI_Irecv(&words[i], 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(kOutstanding, requests, MPI_STATUSES_IGNORE);
    if (rank == 0) MPI_Recv(&answer, 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(&answer, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }
  return (now_seconds() - begin) / rounds / kOutstanding;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bench::Place place(MPI_COMM_WORLD);
  if (place.size != 2) {
    std::fprintf(stderr, "burst: %d ranks, expected 2\n", place.size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const auto seconds =
      bench::batches(20, 10, MPI_COMM_WORLD, [&](int rounds) { return bursts(place.rank, rounds); });
  if (place.rank == 0) bench::report("burst", 8, false, place.size, seconds);
  MPI_Finalize();
  return 0;
}

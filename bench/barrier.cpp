// MPI_Barrier, back to back: seconds of one. With more ranks than processors this shows how a library waits.
#include "measure.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bench::Place place(MPI_COMM_WORLD);
  const auto seconds = bench::batches(20, 20, MPI_COMM_WORLD, [](int rounds) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_seconds();
    for (int round = 0; round < rounds; ++round) MPI_Barrier(MPI_COMM_WORLD);
    return (now_seconds() - begin) / rounds;
  });
  if (place.rank == 0) bench::report("barrier", 0, false, place.size, seconds);
  MPI_Finalize();
  return 0;
}

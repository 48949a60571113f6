/* Closes all descriptors but the first three, also those that the library has opened: all ranks do, or the
   last one. Then sums three times. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  int rank, size, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(argv[1], "all") == 0 || rank == size - 1) close_range(3, ~0u, 0);
  for (int i = 0; i < 3; i++) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2, "the sum is %d", sum);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("closes: right\n");
  MPI_Finalize();
  return 0;
}

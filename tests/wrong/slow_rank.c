// Not wrong, and no deadlock: all wait for rank 0, which computes for long.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  volatile double work = 1;
  while (rank == 0 && work < 1e9) {
    for (int i = 0; i < 100000; ++i) work = work + 1e-3;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

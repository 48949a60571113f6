// Wrong: rank 1 divides by the number of particles, of which it has none.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  volatile int particles = rank == 1 ? 0 : 10;
  int mean = 100 / particles;
  MPI_Bcast(&mean, 1, MPI_INT, 1, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

// Wrong: rank 0 sends only after the barrier what rank 1 wants before it.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int number = 42;
  if (rank == 1) MPI_Recv(&number, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Send(&number, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

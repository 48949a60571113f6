// Wrong: rank 0 sends float, rank 1 receives int: of the same size, and yet nonsense.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  float sent = 1.5f;
  int received = 0;
  if (rank == 0) MPI_Send(&sent, 1, MPI_FLOAT, 1, 5, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&received, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}

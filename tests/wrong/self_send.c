// Wrong: a rank sends a message to itself, and would receive it afterwards.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int number = 3;
  MPI_Ssend(&number, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
  MPI_Recv(&number, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}

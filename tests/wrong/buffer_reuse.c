// Wrong: rank 0 writes into the buffer of a send that is not over.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  static int numbers[1 << 20];
  if (rank == 0) {
    MPI_Request request;
    MPI_Isend(numbers, 1 << 20, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
    numbers[17] = 4711;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(numbers, 1 << 20, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}

// Wrong: two receives that are under way write into the same part of an array.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int numbers[16] = {0};
  MPI_Request requests[2];
  if (rank == 0) {
    MPI_Irecv(numbers, 10, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(numbers + 8, 8, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else if (rank == 1) {
    MPI_Send(numbers, 10, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Send(numbers, 8, MPI_INT, 0, 2, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}

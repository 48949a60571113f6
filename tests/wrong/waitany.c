// Wrong: rank 0 waits for any one of the other ranks, which all wait for rank 0.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int number = rank;
  if (rank == 0) {
    int numbers[8], which;
    MPI_Request requests[8];
    for (int i = 1; i < size; ++i) {
      MPI_Irecv(&numbers[i], 1, MPI_INT, i, 2, MPI_COMM_WORLD, &requests[i - 1]);
    }
    MPI_Waitany(size - 1, requests, &which, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(&number, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}

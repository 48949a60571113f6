// Wrong: rank 0 waits for one message of each other rank, and the last rank does not send its own before the
// barrier.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    int numbers[8];
    MPI_Request requests[8];
    for (int i = 1; i < size; ++i) {
      MPI_Irecv(&numbers[i], 1, MPI_INT, i, 9, MPI_COMM_WORLD, &requests[i - 1]);
    }
    MPI_Waitall(size - 1, requests, MPI_STATUSES_IGNORE);
  } else if (rank < size - 1) {
    MPI_Send(&rank, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

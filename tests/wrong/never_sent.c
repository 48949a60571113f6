// Wrong: rank 0 waits for a message that rank 1 never sends: the sender's loop ends one too early.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  enum { kMessages = 4 };
  for (int i = 0; i < kMessages; ++i) {
    int number = i;
    if (rank == 0) {
      MPI_Request request;
      MPI_Irecv(&number, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (i < kMessages - 1) {
      MPI_Send(&number, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    }
  }
  MPI_Finalize();
  return 0;
}

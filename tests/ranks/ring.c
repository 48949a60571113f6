/* A token goes round the ring and every rank adds its number plus one: the sum is known. */
#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;

  int token = 0;
  MPI_Status status;
  if (rank == 0) {
    token = 1;
    MPI_Request request;
    MPI_Isend(&token, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &request);
    int back = 0;
    MPI_Recv(&back, 1, MPI_INT, previous, 7, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(back == size * (size + 1) / 2, "token came back as %d", back);
    printf("ring of %d: sum %d\n", size, back);
  } else {
    MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_TAG == 7, "tag %d", status.MPI_TAG);
    token += rank + 1;
    MPI_Send(&token, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
  }
  CHECK(status.MPI_SOURCE == previous, "source %d, not %d", status.MPI_SOURCE, previous);
  MPI_Finalize();
  return 0;
}

// Wrong: both ranks MPI_Send first. That works while the message is short enough to be buffered, and stands
// still as soon as it is not.
#include <mpi.h>
#include <stddef.h>

enum { kCount = 128 * 128 * 128 };
static double mine[kCount], theirs[kCount];

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int partner = rank ^ 1;
  for (int count = 1; count <= kCount; count *= 128) {
    MPI_Send(mine, count, MPI_DOUBLE, partner, 1, MPI_COMM_WORLD);
    MPI_Recv(theirs, count, MPI_DOUBLE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}

// Wrong: all ranks send to the right with MPI_Ssend before they receive from the left: a synchronous send
// waits for its receive, and no rank gets that far.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int mine = rank, theirs = -1;
  MPI_Ssend(&mine, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD);
  MPI_Recv(&theirs, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}

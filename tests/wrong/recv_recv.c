// Wrong: two ranks exchange a number, and both receive before they send: nobody ever sends.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int partner = rank ^ 1;
  int mine = rank, theirs = -1;
  MPI_Recv(&theirs, 1, MPI_INT, partner, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&mine, 1, MPI_INT, partner, 7, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

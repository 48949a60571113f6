// Wrong: two ranks exchange numbers by nonblocking calls, and each sends with another tag than its partner
// receives with.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int partner = rank ^ 1;
  int mine = rank, theirs = -1;
  MPI_Request requests[2];
  MPI_Irecv(&theirs, 1, MPI_INT, partner, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&mine, 1, MPI_INT, partner, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Finalize();
  return 0;
}

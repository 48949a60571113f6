// Wrong: rank 0 asks by MPI_Probe how large a message is that rank 1 sends only after an answer.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int number = 0;
  MPI_Status status;
  if (rank == 0) {
    MPI_Probe(1, 11, MPI_COMM_WORLD, &status);
    MPI_Recv(&number, 1, MPI_INT, 1, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&number, 1, MPI_INT, 1, 12, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(&number, 1, MPI_INT, 0, 12, MPI_COMM_WORLD, &status);
    MPI_Send(&number, 1, MPI_INT, 0, 11, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}

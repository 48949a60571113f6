// Wrong: the root is counted from 1.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int number = rank;
  MPI_Bcast(&number, 1, MPI_INT, size, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

// Wrong: rank 0 asks for the largest number, the others for the sum.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int mine = rank, result;
  MPI_Allreduce(&mine, &result, 1, MPI_INT, rank == 0 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

// Wrong: rank 1 expects three numbers of the broadcast, the others four.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int numbers[4] = {rank, rank, rank, rank};
  MPI_Bcast(numbers, rank == 1 ? 3 : 4, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

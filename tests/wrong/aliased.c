// Wrong: the same array is what is summed up and where the sum goes; MPI_IN_PLACE is for that.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double numbers[4] = {rank, rank, rank, rank};
  MPI_Allreduce(numbers, numbers, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

// Wrong: an assertion of rank 1 fails: abort() in the middle of the job.

#undef NDEBUG
#include <assert.h>
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  assert(rank != 1);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

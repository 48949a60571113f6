// Wrong: rank 0 leaves the fence out that ends the epoch, and goes on to a barrier.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int value = 0;
  MPI_Win window;
  MPI_Win_create(&value, sizeof value, sizeof value, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  if (rank != 0) MPI_Put(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  if (rank != 0) MPI_Win_fence(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}

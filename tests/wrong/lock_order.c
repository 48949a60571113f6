// Wrong: each of two ranks holds the lock of its own window and asks for the other's, as two philosophers
// for their forks.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int value = 0;
  MPI_Win window;
  MPI_Win_create(&value, sizeof value, sizeof value, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_set_name(window, "forks");
  const int other = rank ^ 1;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
  MPI_Put(&rank, 1, MPI_INT, rank, 0, 1, MPI_INT, window);
  MPI_Win_flush(rank, window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, window);
  MPI_Put(&rank, 1, MPI_INT, other, 0, 1, MPI_INT, window);
  MPI_Win_unlock(other, window);
  MPI_Win_unlock(rank, window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}

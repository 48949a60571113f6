// Wrong: rank 1 opens an access epoch to rank 0, which never calls MPI_Win_post.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int value = 0;
  MPI_Win window;
  MPI_Win_create(&value, sizeof value, sizeof value, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  if (rank == 1) {
    MPI_Group all, target;
    const int zero = 0;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &zero, &target);
    MPI_Win_start(target, 0, window);
    MPI_Put(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_complete(window);
    MPI_Group_free(&all);
    MPI_Group_free(&target);
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}

// Wrong: a communicator is used after it was freed.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  const MPI_Comm old = copy;
  MPI_Comm_free(&copy);
  MPI_Barrier(old);
  MPI_Finalize();
  return 0;
}

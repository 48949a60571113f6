// Wrong: MPI is used before MPI_Init.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Init(NULL, NULL);
  MPI_Finalize();
  return 0;
}

// Wrong: one of the processes ends without MPI_Init, for which all others wait in theirs.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  const char* const rank = getenv("TASUKI_RANK");
  if (rank != NULL && strcmp(rank, "1") == 0) return 0;
  MPI_Init(NULL, NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

/* Says where each rank is, and the sum of 1 to the number of ranks, which all of them make together.

   hello: that. hello kill: rank 1 is killed then, and the others wait for a message from it. hello kill-busy:
   they compute. hello wait: all wait. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, ranks, sum, length;
  char host[MPI_MAX_PROCESSOR_NAME];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Get_processor_name(host, &length);
  int own = rank + 1;
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d on %s: sum %d\n", rank, ranks, host, sum);
  fflush(stdout);
  if (argc > 1) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && strncmp(argv[1], "kill", 4) == 0) raise(SIGKILL);
    if (strcmp(argv[1], "kill-busy") == 0) sleep(1000);
    MPI_Recv(&own, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}

/* Rank 0 computes nothing for two seconds, then sends to the others, which wait: each says how much time of a
   processor it took meanwhile, in milliseconds, and how long the wait was. */
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

static double processor_ms(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return 1e3 * (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-3 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int value = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    sleep(2);
    for (int peer = 1; peer < size; ++peer) MPI_Send(&peer, 1, MPI_INT, peer, 3, MPI_COMM_WORLD);
  } else {
    const double before = processor_ms(), begin = MPI_Wtime();
    MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(value == rank, "got %d", value);
    printf("asleep %.0f of %.0f ms\n", processor_ms() - before, 1e3 * (MPI_Wtime() - begin));
  }
  MPI_Finalize();
  return 0;
}

/* Something to look at: ranks 0 and 1 send one another messages of 1,000 doubles for some seconds, the others
   wait for rank 0 all the time. Rank 0 prints a line at the start and at the end, and each half second. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kNumbers = 1000 };

static void exchange(int rank, int size, double seconds) {
  double numbers[kNumbers] = {0};
  double told = 0;
  const double begin = MPI_Wtime();
  int more = 1;
  while (more) {
    const double now = MPI_Wtime() - begin;
    if (rank == 0 && now - told > 0.5) {
      told = now;
      printf("line after %.1f s\n", now);
      fflush(stdout);
    }
    more = now < seconds;
    if (rank == 0 && size > 1) {
      MPI_Send(&more, 1, MPI_INT, 1, 8, MPI_COMM_WORLD);
      MPI_Send(numbers, kNumbers, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
      MPI_Recv(numbers, kNumbers, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      MPI_Recv(&more, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(numbers, kNumbers, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(numbers, kNumbers, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD);
    }
  }
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 3;
  int rank, size, go = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    printf("the first line\n");
    fflush(stdout);
  }
  if (rank < 2) exchange(rank, size, seconds);
  if (rank == 0) {
    for (int other = 2; other < size; ++other) MPI_Send(&go, 1, MPI_INT, other, 5, MPI_COMM_WORLD);
    printf("the last line\n");
    fflush(stdout);
  } else if (rank > 1) {
    MPI_Recv(&go, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}

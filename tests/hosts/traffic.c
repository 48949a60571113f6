/* Messages of many sizes between all ranks, for ever: what faults are amid.

   Rank 0 says "running" when all have begun. traffic large: messages of 64 MiB alone, to the rank half the
   job away. traffic quiet SECONDS: nothing for so long, then as without an argument. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kLargest = 64 << 20 };

static int rank, ranks;
static char *out, *in;

static void exchange(int bytes, int distance) {
  const int to = (rank + distance) % ranks;
  const int from = (rank + ranks - distance) % ranks;
  MPI_Sendrecv(out, bytes, MPI_CHAR, to, 0, in, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  out = calloc(kLargest, 1);
  in = calloc(kLargest, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    puts("running");
    fflush(stdout);
  }
  if (strcmp(how, "quiet") == 0) sleep((unsigned)atoi(argv[2]));
  for (int turn = 0;; ++turn) {
    if (strcmp(how, "large") == 0) {
      exchange(kLargest, ranks / 2);
      continue;
    }
    for (int bytes = 8; bytes <= 4 << 20; bytes *= 8) {
      for (int distance = 1; distance < ranks; ++distance) exchange(bytes, distance);
    }
    int sum = 0;
    MPI_Allreduce(&turn, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != turn * ranks) MPI_Abort(MPI_COMM_WORLD, 3);
  }
}

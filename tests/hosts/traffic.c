/* Messages of many sizes between all ranks, for ever: what faults and strangers are amid.

   Rank 0 says "running" when all have begun; what arrives is looked at. traffic large: messages of 64 MiB
   alone, to the rank half the job away. traffic quiet SECONDS: nothing for so long, then as without an
   argument. traffic for SECONDS: ends then. */
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
  in[0] = in[bytes - 1] = -1;
  MPI_Sendrecv(out, bytes, MPI_CHAR, to, 0, in, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (in[0] != from || in[bytes - 1] != from) MPI_Abort(MPI_COMM_WORLD, 4);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double end = strcmp(how, "for") == 0 ? MPI_Wtime() + atof(argv[2]) : 1e300;
  out = malloc(kLargest);
  in = malloc(kLargest);
  memset(out, rank, kLargest);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    puts("running");
    fflush(stdout);
  }
  if (strcmp(how, "quiet") == 0) sleep((unsigned)atoi(argv[2]));
  int sums[2] = {0, 0};
  for (int turn = 0; sums[1] == 0; ++turn) {
    if (strcmp(how, "large") == 0) {
      exchange(kLargest, ranks / 2);
      continue;
    }
    for (int bytes = 8; bytes <= 4 << 20; bytes *= 8) {
      for (int distance = 1; distance < ranks; ++distance) exchange(bytes, distance);
    }
    const int own[2] = {turn, rank == 0 && MPI_Wtime() > end};
    MPI_Allreduce(own, sums, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sums[0] != turn * ranks) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Finalize();
  return 0;
}

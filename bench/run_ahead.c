// How many messages a sender gets ahead of a receiver that computes, in plain MPI with two ranks.
//
//   run_ahead [answered]        a line for each size: the messages, and the microseconds of 16 and of 60 of
//   them
//
// Rank 0 sends bursts by MPI_Send while rank 1 computes for kComputeSeconds; the longest burst that is over
// in half of that counts, the best of kTurns. `answered`: each message follows an empty one of rank 1.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kTurns = 5, kBytesMin = 64, kBytesMax = 8192, kMessagesMax = 128 };
static const double kComputeSeconds = 400e-6;

static void receive(char* data, int bytes, int source) {
  MPI_Recv(data, bytes, MPI_CHAR, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// Seconds that rank 0 takes to send a burst.
static double burst(int rank, char* data, int bytes, int messages, int answered) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    for (int i = 0; answered && i < messages; i++) MPI_Send(data, 0, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    for (const double begin = MPI_Wtime(); MPI_Wtime() - begin < kComputeSeconds;)
      ;
    for (int i = 0; i < messages; i++) receive(data, bytes, 0);
    return 0;
  }
  const double begin = MPI_Wtime();
  for (int i = 0; i < messages; i++) {
    if (answered) receive(data, 0, 1);
    MPI_Send(data, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  }
  return MPI_Wtime() - begin;
}

static double least(int rank, char* data, int bytes, int messages, int answered) {
  double seconds = 1;
  for (int turn = 0; turn < kTurns; turn++) {
    const double one = burst(rank, data, bytes, messages, answered);
    if (one < seconds) seconds = one;
  }
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return seconds;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int answered = argc > 1 && strcmp(argv[1], "answered") == 0;
  if (size != 2 || (argc > 1 && !answered)) {
    fprintf(stderr, "expected 2 ranks, and no word or \"answered\"\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  char* const data = calloc(1, kBytesMax);
  for (int bytes = kBytesMin; bytes <= kBytesMax; bytes *= 2) {
    int ahead = 0;
    while (ahead < kMessagesMax && least(rank, data, bytes, ahead + 1, answered) < kComputeSeconds / 2)
      ahead++;
    const double some = least(rank, data, bytes, 16, answered), many = least(rank, data, bytes, 60, answered);
    if (rank == 0)
      printf("%5d B: %3d ahead, 16 in %6.1f us, 60 in %6.1f us\n", bytes, ahead, some * 1e6, many * 1e6);
  }
  free(data);
  MPI_Finalize();
  return 0;
}

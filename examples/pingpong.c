/* A ping-pong between ranks 0 and 1, from 0 bytes to 8 MiB, beside what the memory itself allows.
 *
 * The limit is measured in the same run, by the same two processes: one memcpy a message through shared
 * memory and a flag (bench/shared_pair.h), the best of "the sender copies", "the receiver copies" and "each
 * copies a half". All figures are one way; each is the best of several batches. From 64 bytes on the owners
 * write their buffers before and read them after, as programs do (that time is counted): bytes that nobody
 * touches would stay in one cache, and nothing would move. Other ranks, if any, wait at the end.
 *
 *     mpicc -O2 pingpong.c -o pingpong && mpiexec -n 2 ./pingpong
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bench/shared_pair.h"

enum { kBytesMax = 8 << 20, kTouchedBytes = 64, kBatches = 5 };
static const size_t kSizes[] = {0,        1,        8,         64,      512,     2 << 10, 8 << 10,
                                16 << 10, 64 << 10, 256 << 10, 1 << 20, 2 << 20, 4 << 20, kBytesMax};
static const double kBatchSeconds = 0.01;

static double least(double a, double b) {
  return a < b ? a : b;
}

/* Seconds one way of a message, with the buffers touched between the rounds or not. */
static double message_seconds(SharedPair* pair, size_t bytes, int rounds, int touched, unsigned char* out,
                              unsigned char* in) {
  const int count = (int)bytes, peer = 1 - pair->rank;
  volatile uint64_t sink = 0;
  pair_meet(pair);
  const double begin = now_seconds();
  for (int round = 0; round < rounds; round++) {
    if (touched) touch_out(out, bytes, round);
    if (pair->rank == 0) MPI_Send(out, count, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    MPI_Recv(in, count, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (pair->rank == 1) MPI_Send(out, count, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    if (touched) sink = sink + touch_in(in, bytes);
  }
  return (now_seconds() - begin) / rounds / 2;
}

typedef struct Row {
  double message, limit; /* seconds one way */
} Row;

/* The best of kBatches batches of each, taken in turn so that all see the same machine. */
static Row measure(SharedPair* pair, size_t bytes, unsigned char* out, unsigned char* in) {
  Row best = {1e9, 1e9};
  const int touched = bytes >= kTouchedBytes;
  const double guess = message_seconds(pair, bytes, 5, touched, out, in);
  int rounds = (int)(kBatchSeconds / 2 / (guess + 1e-8));
  const int rounds_min = bytes < 65536 ? 100 : 10;
  rounds = rounds < rounds_min ? rounds_min : rounds > 20000 ? 20000 : rounds;
  if (pair->rank == 0) {
    MPI_Send(&rounds, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&rounds, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  for (int batch = 0; batch < kBatches; batch++) {
    best.message = least(best.message, message_seconds(pair, bytes, rounds, touched, out, in));
    best.limit = least(best.limit, pair_one_way_seconds(pair, bytes, rounds, kPush, touched));
    if (bytes < 512) continue;
    best.limit = least(best.limit, pair_one_way_seconds(pair, bytes, rounds, kPull, touched));
    best.limit = least(best.limit, pair_one_way_seconds(pair, bytes, rounds, kBoth, touched));
  }
  return best;
}

static void print_size(size_t bytes) {
  if (bytes >= 1 << 20) {
    printf("%6zu MiB", bytes >> 20);
  } else if (bytes >= 1 << 10) {
    printf("%6zu KiB", bytes >> 10);
  } else {
    printf("%6zu B  ", bytes);
  }
}

static void print_row(size_t bytes, Row row) {
  print_size(bytes);
  printf("   %10.2f", 1e6 * row.message);
  if (bytes > 0) printf("   %8.2f", 1e-9 * (double)bytes / row.message);
  if (bytes == 0) printf("   %8s", "-");
  printf("   %10.2f", 1e6 * row.limit);
  if (bytes > 0) printf("   %8.2f", 1e-9 * (double)bytes / row.limit);
  if (bytes == 0) printf("   %8s", "-");
  printf("   %5.0f %%\n", 100 * row.limit / row.message);
  fflush(stdout);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, failed = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2) {
    fprintf(stderr, "pingpong: %d rank, expected 2 or more (mpiexec -n 2)\n", size);
    MPI_Finalize();
    return 1;
  }
  if (rank < 2) {
    unsigned char *out = malloc(kBytesMax), *in = malloc(kBytesMax);
    memset(out, rank + 1, kBytesMax);
    memset(in, 0, kBytesMax);
    SharedPair pair;
    failed = pair_open(&pair, kBytesMax, MPI_COMM_WORLD) != 0;
    if (!failed) {
      if (rank == 0) {
        printf("             MPI_Send/MPI_Recv         one memcpy (limit)\n");
        printf("  message      us one way       GB/s   us one way       GB/s     share\n");
      }
      for (size_t i = 0; i < sizeof kSizes / sizeof kSizes[0]; i++) {
        const Row row = measure(&pair, kSizes[i], out, in);
        if (rank == 0) print_row(kSizes[i], row);
      }
      pair_close(&pair);
    }
    free(out);
    free(in);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}

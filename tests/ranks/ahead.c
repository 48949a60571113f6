/* Pairs of ranks of which both send some messages of 16 KiB, blocking, before they receive: what goes at once
 * (TASUKI_EAGER_BYTES_MAX) does so whatever the two have sent to each other before. */
#include <string.h>

#include "check.h"

enum { kBytes = 16384, kAhead = 4, kRounds = 40 };

static char out[kBytes], in[kBytes];

static void send_one(int partner, int number) {
  memset(out, number, kBytes);
  MPI_Send(out, kBytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
}
static void receive_one(int partner, int number) {
  MPI_Recv(in, kBytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in[0] == (char)number && memcmp(in, in + 1, kBytes - 1) == 0, "%d arrived, not %d", in[0], number);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int partner = rank ^ 1;
  for (int round = 0; round < kRounds && partner < size; ++round) {
    if (rank < partner) send_one(partner, round);
    receive_one(partner, round);
    if (rank > partner) send_one(partner, round);
    for (int i = 0; i < kAhead; ++i) send_one(partner, round + i);
    for (int i = 0; i < kAhead; ++i) receive_one(partner, round + i);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("ahead: right\n");
  MPI_Finalize();
  return 0;
}

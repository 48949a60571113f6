/* A known number of messages of each size: what mpiexec --stats is to count. Arguments: how it ends ("well",
 * "abort", "kill", "sleep"), and where ranks meet first, so that either the receive or the message comes
 * first
 * ("receive", "message"). REQUIRES: 2 ranks. */
#include "check.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGES = 10, SIZES = 3 };

/* Not a barrier, whose own messages may carry bytes. */
static void meet(int rank) {
  MPI_Sendrecv(NULL, 0, MPI_BYTE, 1 - rank, 98, NULL, 0, MPI_BYTE, 1 - rank, 98, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  const int sizes[SIZES] = {8, 3000, 500000};
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* const end = argc > 1 ? argv[1] : "well";
  const int message_first = argc > 2 && strcmp(argv[2], "message") == 0;
  char* buffer = calloc(1, 500000);
  for (int size = 0; size < SIZES; ++size) {
    for (int i = 0; i < MESSAGES; ++i) {
      MPI_Request request = MPI_REQUEST_NULL;
      if (rank == 1 && !message_first)
        MPI_Irecv(buffer, sizes[size], MPI_BYTE, 0, size, MPI_COMM_WORLD, &request);
      if (rank == 0 && message_first)
        MPI_Isend(buffer, sizes[size], MPI_BYTE, 1, size, MPI_COMM_WORLD, &request);
      meet(rank);
      if (rank == 0 && !message_first) MPI_Send(buffer, sizes[size], MPI_BYTE, 1, size, MPI_COMM_WORLD);
      if (rank == 1 && message_first) {
        MPI_Status status;
        MPI_Probe(0, size, MPI_COMM_WORLD, &status); /* it has arrived, and no receive is open */
        MPI_Recv(buffer, sizes[size], MPI_BYTE, 0, size, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  if (strcmp(end, "well") != 0) {
    meet(rank);
    if (rank == 1) {
      usleep(100000); /* the other one waits by then */
      if (strcmp(end, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
      raise(SIGKILL);
    }
    MPI_Recv(buffer, 1, MPI_BYTE, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  free(buffer);
  MPI_Finalize();
  return 0;
}

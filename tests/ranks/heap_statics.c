/* Messages from and to static data: arrays of .bss and .data that are mapped from the symmetric heap. Every
 * rank sends to the next one and receives from the one before, large and small, with the receive before and
 * after the send. "statics: ADDRESS" tells whether the array lies in a mapping of the symmetric heap:
 * "global" or "private". */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "mapping.h"

enum { COUNT = 3 << 18 };

static int out[COUNT]; /* .bss */
static int in[COUNT];
static int start[1 << 15] = {5, [(1 << 15) - 1] = 6}; /* .data */
static const int constant[1 << 15] = {7};             /* read-only: stays where it is */

static int value_of(int rank, int count, int i) {
  return rank * 1000003 + count * 7 + i;
}

static void pass_on(int rank, int size, int count, int receive_first) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Request requests[2];
  for (int i = 0; i < count; ++i) out[i] = value_of(rank, count, i);
  memset(in, 0xff, sizeof(int) * (size_t)count);
  MPI_Barrier(MPI_COMM_WORLD);
  if (receive_first) MPI_Irecv(in, count, MPI_INT, before, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, count, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[1]);
  if (!receive_first) MPI_Irecv(in, count, MPI_INT, before, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; ++i) {
    CHECK(in[i] == value_of(before, count, i), "%d of %d: %d from rank %d", i, count, in[i], before);
  }
}

int main(int argc, char** argv) {
  int rank, size;
  out[COUNT - 1] = 11; /* what was written before MPI_Init stays */
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(out[COUNT - 1] == 11 && start[0] == 5 && start[1] == 0 && start[(1 << 15) - 1] == 6, "static data");
  CHECK(constant[0] == 7 && strcmp(kind_of(constant), "private") == 0, "constants");
  for (int count = 1; count <= COUNT; count = count < COUNT && count * 3 > COUNT ? COUNT : count * 3) {
    pass_on(rank, size, count, 1);
    pass_on(rank, size, count, 0);
    if (count == COUNT) break;
  }
  MPI_Bcast(start, 1 << 15, MPI_INT, size - 1, MPI_COMM_WORLD);
  CHECK(start[0] == 5 && start[(1 << 15) - 1] == 6, "broadcast of .data");
  printf("statics: %s\n", kind_of(in));
  MPI_Finalize();
  return 0;
}

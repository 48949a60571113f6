/* A program that a profiler looks at: it knows nothing of it. Sends 1 + rank messages, switches profiling off
 * for 5 more by MPI_Pcontrol, reduces twice. */
#include "check.h"

static void send_to_next(int messages) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < messages; ++i) {
    MPI_Request request;
    MPI_Irecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Send(NULL, 0, MPI_BYTE, (rank + 1) % size, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  send_to_next(1 + rank);
  CHECK(MPI_Pcontrol(0) == MPI_SUCCESS, "MPI_Pcontrol(0) failed");
  send_to_next(5);
  CHECK(MPI_Pcontrol(1, "again", 2.0) == MPI_SUCCESS, "MPI_Pcontrol(1) failed");
  const int expected = 1 + (rank + size - 1) % size + 5;
  for (int i = 0; i < expected; ++i)
    MPI_Recv(NULL, 0, MPI_BYTE, (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  int one = 1, sum = 0;
  for (int i = 0; i < 2; ++i) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == size, "sum %d", sum);
  MPI_Finalize();
  return 0;
}

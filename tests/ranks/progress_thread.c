/* TASUKI_PROGRESS_THREAD=1: what two ranks have begun goes on while neither calls MPI. A long message needs
 * both ranks: its data lie in many short blocks, which the sender packs and the receiver unpacks. Each rank
 * looks into its receive buffer alone until something is there; without the thread it would look for ever. */
#include <sched.h>
#include <stdlib.h>

#include "check.h"

enum { kBlocks = 200000, kStride = 3 };

int main(int argc, char** argv) {
  int rank;
  MPI_Datatype blocks, irregular;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  volatile int* data = calloc(kBlocks * kStride, sizeof *data);
  MPI_Type_vector(kBlocks / 2, 1, kStride, MPI_INT, &blocks);
  MPI_Type_create_hvector(2, 1, (MPI_Aint)(kBlocks / 2 * kStride * sizeof *data), blocks, &irregular);
  MPI_Type_commit(&irregular);
  if (rank == 0) {
    for (int i = 0; i < kBlocks * kStride; i++) data[i] = i + 1;
    MPI_Isend((int*)data, 1, irregular, 1, 0, MPI_COMM_WORLD, &request);
    /* Until the other one has it all, which it says in a message that is looked for in memory alone. */
    volatile int taken = 0;
    MPI_Request answer;
    MPI_Irecv((int*)&taken, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &answer);
    while (taken == 0) sched_yield();
    MPI_Wait(&answer, MPI_STATUS_IGNORE);
  } else {
    const int last = (kBlocks - 1) * kStride;
    int one = 1;
    MPI_Irecv((int*)data, 1, irregular, 0, 0, MPI_COMM_WORLD, &request);
    while (data[last] == 0) sched_yield();
    MPI_Send(&one, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < kBlocks; i++)
    CHECK(data[i * kStride] == i * kStride + 1, "element %d is %d", i, data[i * kStride]);
  MPI_Type_free(&blocks);
  MPI_Type_free(&irregular);
  free((void*)data);
  if (rank == 0) printf("progress: right\n");
  MPI_Finalize();
  return 0;
}

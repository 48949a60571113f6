/* MPI_THREAD_MULTIPLE: four threads a rank, each with its own communicator, in rings of their own. */
#include <pthread.h>

#include "check.h"

enum { kThreads = 4, kRounds = 200 };

static MPI_Comm comms[kThreads];

static void* turn(void* argument) {
  const int id = (int)(long)argument;
  int rank, size;
  MPI_Comm_rank(comms[id], &rank);
  MPI_Comm_size(comms[id], &size);
  for (int round = 0; round < kRounds; round++) {
    int out = 1000 * id + round, in = -1;
    MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, id, &in, 1, MPI_INT, (rank + size - 1) % size, id,
                 comms[id], MPI_STATUS_IGNORE);
    CHECK(in == out, "thread %d, round %d: got %d, not %d", id, round, in, out);
    int sum = 0;
    if (round % 20 == 0) {
      MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, comms[id]);
      CHECK(sum == size * out, "thread %d: allreduce gave %d", id, sum);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE, "thread level %d", provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < kThreads; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; i++) pthread_create(&threads[i], NULL, turn, (void*)i);
  for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; i++) MPI_Comm_free(&comms[i]);
  if (rank == 0) printf("threads: right\n");
  MPI_Finalize();
  return 0;
}

/* A small correct program with MPI_THREAD_MULTIPLE, for tools that watch threads: messages between threads of
 * different ranks and of the same one, which hand on memory that MPI alone guards. With the argument `race`
 * two threads count in a variable that nothing guards, before their first call: a call of one thread orders
 * what it did before what others do after their next call. It prints "threaded: right" at rank 0. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kThreads = 2, kRounds = 12, kHandOns = 10 };

static int rank, ranks, with_race;
static volatile int counter;
static int handed_on[1000]; /* guarded by messages from thread 0 to thread 1 of this rank */
static MPI_Comm comms[kThreads];
static const int kSizes[] = {4, 500, 5000, 100000};

static void exchange(int id, int round) {
  const int size = kSizes[round % 4];
  char *out = malloc(size), *in = malloc(size);
  memset(out, round, size);
  MPI_Sendrecv(out, size, MPI_BYTE, (rank + 1) % ranks, id, in, size, MPI_BYTE, (rank + ranks - 1) % ranks,
               id, comms[id], MPI_STATUS_IGNORE);
  if (in[0] != round || in[size - 1] != round) abort();
  free(out);
  free(in);
  int sum = 0;
  MPI_Allreduce(&id, &sum, 1, MPI_INT, MPI_SUM, comms[id]);
  if (sum != ranks * id) abort();
}

static void hand_on(int id) {
  for (int i = 0; i < kHandOns; ++i) {
    int token = i;
    if (id == 0) {
      for (int j = 0; j < 1000; ++j) handed_on[j] = i + j;
      MPI_Send(&token, 1, MPI_INT, rank, 100, MPI_COMM_WORLD);
      MPI_Recv(&token, 1, MPI_INT, rank, 101, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&token, 1, MPI_INT, rank, 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (handed_on[999] != i + 999) abort();
      MPI_Send(&token, 1, MPI_INT, rank, 101, MPI_COMM_WORLD);
    }
  }
}

static void* turn(void* argument) {
  const int id = (int)(long)argument;
  for (int i = 0; with_race && i < 100; ++i) counter = counter + 1;
  for (int round = 0; round < kRounds; ++round) exchange(id, round);
  hand_on(id);
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  with_race = argc > 1 && strcmp(argv[1], "race") == 0;
  for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  pthread_t thread;
  pthread_create(&thread, NULL, turn, (void*)1);
  turn(NULL);
  pthread_join(thread, NULL);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&comms[i]);
  MPI_Finalize();
  if (rank == 0) puts("threaded: right");
  return 0;
}

/* A thread that is amid one long accumulate keeps no other thread of its rank waiting. The other thread looks
 * at the window's memory: where the first element has been combined and the last one has not, before a call
 * of its own and behind it, that call was made in the midst of the accumulate. Where the lock is held through
 * all of it there is no such call, and the test runs into its time limit.
 *
 * Arguments: what is done (accumulate | accumulate_alone | get_accumulate), and MiB. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kCalls = 20 };

static atomic_long calls; /* made in the midst of accumulates */
static MPI_Comm others;   /* of this rank alone: of the second thread */
static volatile int *first, *last;

static void* call(void* nothing) {
  while (atomic_load(&calls) < kCalls) {
    int out = 17, in = 0;
    const int before = *first;
    const int is_amid = before == *last + 1;
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, others, MPI_STATUS_IGNORE);
    CHECK(in == 17, "%d came", in);
    if (is_amid && before == *last + 1) atomic_fetch_add(&calls, 1);
  }
  return nothing;
}

int main(int argc, char** argv) {
  int provided, rank, size, turns = 0, unit;
  MPI_Aint bytes;
  int* memory;
  MPI_Win win;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE && argc == 3, "thread level %d, %d arguments", provided, argc - 1);
  const int is_alone = strcmp(argv[1], "accumulate_alone") == 0;
  const int gets = strcmp(argv[1], "get_accumulate") == 0;
  const int count = atoi(argv[2]) << 18;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_SELF, &others);
  MPI_Win_allocate_shared((MPI_Aint)count * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                          &memory, &win);
  memset(memory, 0, (size_t)count * sizeof(int));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    pthread_t thread;
    const int target = size - 1;
    int* const data = malloc((size_t)count * sizeof(int));
    int* const result = malloc((size_t)count * sizeof(int));
    for (int i = 0; i < count; i++) data[i] = 1;
    MPI_Win_shared_query(win, target, &bytes, &unit, &memory);
    first = memory;
    last = memory + count - 1;
    pthread_create(&thread, NULL, call, NULL);
    MPI_Win_lock(is_alone ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win);
    for (; atomic_load(&calls) < kCalls; turns++) {
      if (gets)
        MPI_Get_accumulate(data, count, MPI_INT, result, count, MPI_INT, target, 0, count, MPI_INT, MPI_SUM,
                           win);
      else
        MPI_Accumulate(data, count, MPI_INT, target, 0, count, MPI_INT, MPI_SUM, win);
    }
    MPI_Win_unlock(target, win);
    for (int i = 0; i < count; i++)
      CHECK(memory[i] == turns, "element %d: %d after %d turns", i, memory[i], turns);
    pthread_join(thread, NULL);
    printf("beside %s: right\n", argv[1]);
    free(data);
    free(result);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  MPI_Comm_free(&others);
  MPI_Finalize();
  return 0;
}

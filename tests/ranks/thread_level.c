/* argv[1]: the thread level to ask for. What is granted is what MPI_Query_thread says; the main thread knows
   itself. Below MPI_THREAD_MULTIPLE a second thread, started by the program, computes while the main one
   communicates. */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

static void* look(void* argument) {
  int* main_thread = argument;
  int level, initialized;
  MPI_Initialized(&initialized); /* legal in any thread at any level (MPI 11.6.1) */
  CHECK(initialized, "not initialized");
  MPI_Query_thread(&level);
  MPI_Is_thread_main(main_thread);
  return NULL;
}

int main(int argc, char** argv) {
  const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
  const int wanted = levels[atoi(argv[1])];
  int provided = -1, queried = -1, main_thread = 0, other_thread = 1, rank, sum = 0, one = 1, size;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  MPI_Query_thread(&queried);
  CHECK(provided == wanted && queried == provided, "asked for %d, got %d, told %d", wanted, provided,
        queried);
  MPI_Is_thread_main(&main_thread);
  CHECK(main_thread == 1, "the main thread is not");
  if (wanted != MPI_THREAD_SINGLE) {
    pthread_t other;
    pthread_create(&other, NULL, look, &other_thread);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    pthread_join(other, NULL);
    CHECK(sum == size, "allreduce gave %d", sum);
    CHECK(other_thread == 0, "another thread is the main one");
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("thread level %d: right\n", provided);
  MPI_Finalize();
  return 0;
}

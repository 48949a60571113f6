/* Many ranks: a barrier, sums, an all-to-all of 8 bytes, a split, and windows, against closed forms. Rank 0
   prints a line after each: seconds since MPI_Init, and what its memory has become, private and shared, in
   KiB. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;
static double begin;

static long kib(const char* name) {
  char line[256];
  long value = 0, found = 0;
  FILE* file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, name, &value) == 1) found = value;
  if (file != NULL) fclose(file);
  return found;
}
static void tell(const char* what) {
  if (rank == 0)
    printf("%-9s of %d ranks: %.2f s, %ld KiB private, %ld KiB shared\n", what, size, MPI_Wtime() - begin,
           kib("RssAnon: %ld"), kib("RssShmem: %ld"));
  fflush(stdout);
}
static void check(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "rank %d: %s is wrong\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void split(void) {
  MPI_Comm part;
  int members = 0, sum = 0, expected = 0;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 7, -rank, &part);
  MPI_Comm_size(part, &members);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
  for (int member = rank % 7; member < size; member += 7) expected += member;
  check(sum == expected && members == (size - rank % 7 + 6) / 7, "split");
  MPI_Comm_free(&part);
}

static void windows(void) {
  MPI_Win window;
  int *base, left = (rank + size - 1) % size, sum = 1;
  MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  base[0] = -1;
  base[1] = 0;
  MPI_Win_fence(0, window);
  MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
  MPI_Accumulate(&sum, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_fence(0, window);
  check(base[0] == left, "put");
  check(base[1] == (rank == 0 ? size : 0), "accumulate");
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  begin = MPI_Wtime();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  tell("MPI_Init");
  MPI_Barrier(MPI_COMM_WORLD);
  tell("barrier");
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check(sum == size * (size - 1) / 2, "allreduce");
  tell("allreduce");
  long long* out = malloc(sizeof *out * (size_t)size);
  long long* in = malloc(sizeof *in * (size_t)size);
  for (int to = 0; to < size; to++) out[to] = 100000LL * rank + to;
  MPI_Alltoall(out, 1, MPI_LONG_LONG, in, 1, MPI_LONG_LONG, MPI_COMM_WORLD);
  for (int from = 0; from < size; from++) check(in[from] == 100000LL * from + rank, "alltoall");
  tell("alltoall");
  split();
  tell("split");
  windows();
  tell("windows");
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}

/* What messages and collectives over hosts take, in plain MPI, for bench/over_hosts.py: a line of JSON for
   each operation and size. A sample is a batch of calls on all ranks, as rank 0 sees it; the sender writes a
   word of each cache line before a call, the receiver reads one after it, within the time. Arguments: seconds
   for each, and an operation that is to be measured alone. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSamples = 7, kLineBytes = 64, kCallsMax = 2000 };

static int rank, size;
static char *out, *in;
static volatile char sink;

static void write_lines(char* at, long bytes) {
  for (long i = 0; i < bytes; i += kLineBytes) at[i]++;
}

static void read_lines(const char* at, long bytes) {
  for (long i = 0; i < bytes; i += kLineBytes) sink = at[i];
}

static void call_pingpong(int n) {
  const int other = size - 1;
  if (rank == 0) {
    MPI_Send(out, n, MPI_CHAR, other, 0, MPI_COMM_WORLD);
    MPI_Recv(in, n, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == other) {
    MPI_Recv(in, n, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(out, n, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
}
static void call_exchange(int n) {
  const int other = (rank + size / 2) % size;
  MPI_Sendrecv(out, n, MPI_CHAR, other, 0, in, n, MPI_CHAR, (rank + size - size / 2) % size, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void call_barrier(int n) {
  (void)n;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void call_bcast(int n) {
  MPI_Bcast(rank == 0 ? out : in, n, MPI_CHAR, 0, MPI_COMM_WORLD);
}
static void call_reduce(int n) {
  MPI_Reduce(out, in, n / 8, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
}
static void call_allreduce(int n) {
  MPI_Allreduce(out, in, n / 8, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
}
static void call_scan(int n) {
  MPI_Scan(out, in, n / 8, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
}
static void call_reduce_scatter_block(int n) {
  MPI_Reduce_scatter_block(out, in, n / 8, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
}
static void call_gather(int n) {
  MPI_Gather(out, n, MPI_CHAR, in, n, MPI_CHAR, 0, MPI_COMM_WORLD);
}
static void call_scatter(int n) {
  MPI_Scatter(out, n, MPI_CHAR, in, n, MPI_CHAR, 0, MPI_COMM_WORLD);
}
static void call_allgather(int n) {
  MPI_Allgather(out, n, MPI_CHAR, in, n, MPI_CHAR, MPI_COMM_WORLD);
}
static void call_alltoall(int n) {
  MPI_Alltoall(out, n, MPI_CHAR, in, n, MPI_CHAR, MPI_COMM_WORLD);
}

static const struct {
  const char* name;
  void (*call)(int bytes);
} kOperations[] = {
    {"pingpong", call_pingpong}, {"exchange", call_exchange},
    {"barrier", call_barrier},   {"bcast", call_bcast},
    {"reduce", call_reduce},     {"allreduce", call_allreduce},
    {"scan", call_scan},         {"gather", call_gather},
    {"scatter", call_scatter},   {"allgather", call_allgather},
    {"alltoall", call_alltoall}, {"reduce_scatter_block", call_reduce_scatter_block},
};

static double batch(void (*call)(int), int bytes, int calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; i++) {
    write_lines(out, bytes);
    call(bytes);
    read_lines(in, bytes);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return (MPI_Wtime() - begin) / calls;
}

static int compare(const void* one, const void* other) {
  const double a = *(const double*)one, b = *(const double*)other;
  return (a > b) - (a < b);
}

static void measure(const char* name, void (*call)(int), int bytes, double seconds) {
  double times[kSamples], once = batch(call, bytes, 3);
  int calls = (int)(seconds / kSamples / (once > 1e-9 ? once : 1e-9));
  calls = calls < 1 ? 1 : calls > kCallsMax ? kCallsMax : calls;
  MPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < kSamples; i++) times[i] = batch(call, bytes, calls);
  qsort(times, kSamples, sizeof *times, compare);
  if (rank == 0)
    printf("{\"operation\": \"%s\", \"bytes\": %d, \"least\": %.9f, \"median\": %.9f}\n", name, bytes,
           times[0], times[kSamples / 2]);
  fflush(stdout);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double seconds = argc > 1 ? atof(argv[1]) : 0.05;
  const int sizes[] = {8, 64 << 10, 1 << 20};
  const size_t room = (size_t)size << 20;
  out = calloc(room, 1);
  in = calloc(room, 1);
  for (size_t i = 0; seconds > 0 && i < sizeof kOperations / sizeof *kOperations; i++) {
    if (argc > 2 && strcmp(kOperations[i].name, argv[2]) != 0) continue;
    const int alone = strcmp(kOperations[i].name, "barrier") == 0;
    for (int at = 0; at < (alone ? 1 : 3); at++)
      measure(kOperations[i].name, kOperations[i].call, sizes[at], seconds);
  }
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}

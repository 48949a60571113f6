/* What messages, windows, collectives and files over hosts take, in plain MPI, for bench/over_hosts.py: a
   line of JSON for each operation and size. Arguments: seconds for each row; 1 to bind ranks to processors,
   as on hosts of their own, 0 not to; a folder that all hosts see, for files; what to measure: words of
   kGroups.

   A sample is a batch of calls, as rank 0 sees it. Buffers are touched: the sender writes a word of each
   cache line before a call, the receiver reads one after it, within the time. `pingpong` is one way: half of
   a round trip. `outstanding` is a message of 64 that are sent at once, with the answer that all have come.
   In `put` and `fetch_and_op` the target waits in MPI meanwhile. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  kSamples = 25,
  kSamplesMin = 3,
  kLineBytes = 64,
  kCallsMax = 2000,
  kOutstanding = 64,
  kBlockBytes = 64 << 10
};

static int rank, size;
static char *out, *in;
static volatile char sink;
static MPI_Win win;
static MPI_File file;

static void write_lines(char* at, long bytes) {
  for (long i = 0; i < bytes; i += kLineBytes) at[i]++;
}

static void read_lines(const char* at, long bytes) {
  for (long i = 0; i < bytes; i += kLineBytes) sink = at[i];
}

/* ---- messages between the first and the last rank ---- */

static void call_pingpong(int n) {
  const int other = size - 1;
  if (rank == 0) {
    write_lines(out, n);
    MPI_Send(out, n, MPI_CHAR, other, 0, MPI_COMM_WORLD);
    MPI_Recv(in, n, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    read_lines(in, n);
  } else if (rank == other) {
    MPI_Recv(in, n, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    read_lines(in, n);
    write_lines(out, n);
    MPI_Send(out, n, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
}

static void call_outstanding(int n) {
  const int other = size - 1;
  MPI_Request requests[kOutstanding];
  if (rank == 0) {
    for (int i = 0; i < kOutstanding; i++)
      MPI_Isend(out + i * kLineBytes, n, MPI_CHAR, other, 0, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(kOutstanding, requests, MPI_STATUSES_IGNORE);
    MPI_Recv(in, 1, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == other) {
    for (int i = 0; i < kOutstanding; i++)
      MPI_Irecv(in + i * kLineBytes, n, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(kOutstanding, requests, MPI_STATUSES_IGNORE);
    MPI_Send(out, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
  }
}

/* ---- windows: rank 0 to the memory of the last rank ---- */

static void call_put(int n) {
  if (rank != 0) return;
  write_lines(out, n);
  MPI_Put(out, n, MPI_CHAR, size - 1, 0, n, MPI_CHAR, win);
  MPI_Win_flush(size - 1, win);
}

static void call_fetch_and_op(int n) {
  (void)n;
  long one = 1, before;
  if (rank != 0) return;
  MPI_Fetch_and_op(&one, &before, MPI_LONG, size - 1, 0, MPI_SUM, win);
  MPI_Win_flush(size - 1, win);
}

/* ---- collectives ---- */

static void call_barrier(int n) {
  (void)n;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void call_bcast(int n) {
  if (rank == 0) write_lines(out, n);
  MPI_Bcast(rank == 0 ? out : in, n, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank != 0) read_lines(in, n);
}
static void call_allreduce(int n) {
  write_lines(out, n);
  MPI_Allreduce(out, in, n / 8, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  read_lines(in, n);
}
static void call_allgather(int n) {
  write_lines(out, n);
  MPI_Allgather(out, n, MPI_CHAR, in, n, MPI_CHAR, MPI_COMM_WORLD);
  read_lines(in, (long)n * size);
}
static void call_alltoall(int n) {
  write_lines(out, (long)n * size);
  MPI_Alltoall(out, n, MPI_CHAR, in, n, MPI_CHAR, MPI_COMM_WORLD);
  read_lines(in, (long)n * size);
}

/* ---- files: blocks of the ranks in turn ---- */

static void call_write_all(int n) {
  write_lines(out, n);
  MPI_File_write_at_all(file, 0, out, n, MPI_CHAR, MPI_STATUS_IGNORE);
}
static void call_read_all(int n) {
  MPI_File_read_at_all(file, 0, in, n, MPI_CHAR, MPI_STATUS_IGNORE);
  read_lines(in, n);
}

enum { kBytesMax = 4 << 20, kSizesMax = 4 };
/* `share`: what part of the time of a call the row has. */
static const struct {
  const char *group, *name;
  void (*call)(int bytes);
  double share;
  int bytes[kSizesMax];
} kOperations[] = {
    {"messages", "pingpong", call_pingpong, 0.5, {8, 1 << 10, 64 << 10, 4 << 20}},
    {"messages", "outstanding", call_outstanding, 1.0 / kOutstanding, {8}},
    {"windows", "put", call_put, 1, {8, 64 << 10}},
    {"windows", "fetch_and_op", call_fetch_and_op, 1, {8}},
    {"collectives", "barrier", call_barrier, 1, {0}},
    {"collectives", "bcast", call_bcast, 1, {8, 64 << 10, 1 << 20}},
    {"collectives", "allreduce", call_allreduce, 1, {8, 64 << 10, 1 << 20}},
    {"collectives", "allgather", call_allgather, 1, {8, 64 << 10, 1 << 20}},
    {"collectives", "alltoall", call_alltoall, 1, {8, 64 << 10, 1 << 20}},
    {"files", "write_all", call_write_all, 1, {4 << 20}},
    {"files", "read_all", call_read_all, 1, {4 << 20}},
};

static double batch(void (*call)(int), int bytes, int calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; i++) call(bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  return (MPI_Wtime() - begin) / calls;
}

static int compare(const void* one, const void* other) {
  const double a = *(const double*)one, b = *(const double*)other;
  return (a > b) - (a < b);
}

static void measure(int row, int bytes, double seconds) {
  double times[kSamples], once = batch(kOperations[row].call, bytes, 3);
  int calls = (int)(seconds / kSamples / (once > 1e-9 ? once : 1e-9));
  calls = calls < 1 ? 1 : calls > kCallsMax ? kCallsMax : calls;
  int samples = once * kSamples > 4 * seconds ? (int)(4 * seconds / once) : kSamples;
  if (samples < kSamplesMin) samples = kSamplesMin;
  int plan[] = {calls, samples};
  MPI_Bcast(plan, 2, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < plan[1]; i++) times[i] = batch(kOperations[row].call, bytes, plan[0]);
  qsort(times, (size_t)plan[1], sizeof *times, compare);
  const double share = kOperations[row].share;
  if (rank == 0)
    printf("{\"operation\": \"%s\", \"bytes\": %d, \"least\": %.9f, \"median\": %.9f}\n",
           kOperations[row].name, bytes, times[0] * share, times[plan[1] / 2] * share);
  fflush(stdout);
}

static void measure_group(const char* group, double seconds) {
  for (size_t row = 0; row < sizeof kOperations / sizeof *kOperations; row++) {
    if (strcmp(kOperations[row].group, group) != 0) continue;
    for (int at = 0; at < kSizesMax && (at == 0 || kOperations[row].bytes[at] != 0); at++)
      measure((int)row, kOperations[row].bytes[at], seconds);
  }
}

static void open_file(const char* folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/over_hosts.data", folder);
  MPI_Datatype blocks, turns;
  MPI_Type_contiguous(kBlockBytes, MPI_CHAR, &blocks);
  MPI_Type_create_resized(blocks, 0, (MPI_Aint)kBlockBytes * size, &turns);
  MPI_Type_commit(&turns);
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
  MPI_File_set_view(file, (MPI_Offset)rank * kBlockBytes, MPI_CHAR, turns, "native", MPI_INFO_NULL);
  MPI_Type_free(&turns);
  MPI_Type_free(&blocks);
}

/* Hosts of a test share processors, which no host knows: each rank of a host has its own, and the first rank
   of the next host begins one further. */
static void bind(void) {
  char name[MPI_MAX_PROCESSOR_NAME];
  int length, on_host;
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &on_host);
  MPI_Comm_free(&node);
  MPI_Get_processor_name(name, &length);
  const int host = atoi(name + strcspn(name, "0123456789")) - 1;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET((host + on_host) % (int)sysconf(_SC_NPROCESSORS_ONLN), &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) perror("over_hosts: sched_setaffinity");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double seconds = argc > 1 ? atof(argv[1]) : 0;
  if (argc > 2 && atoi(argv[2]) != 0) bind();
  const size_t room = (size_t)size * kBytesMax;
  out = calloc(room, 1);
  in = calloc(room, 1);
  for (int i = 4; i < argc; i++) {
    char* memory;
    const int windows = strcmp(argv[i], "windows") == 0, files = strcmp(argv[i], "files") == 0;
    if (files) open_file(argv[3]);
    if (windows) {
      MPI_Win_allocate(kBytesMax, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
      memset(memory, 0, kBytesMax);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_lock_all(0, win);
    }
    measure_group(argv[i], seconds);
    if (windows) {
      MPI_Win_unlock_all(win);
      MPI_Win_free(&win);
    }
    if (files) MPI_File_close(&file);
  }
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}

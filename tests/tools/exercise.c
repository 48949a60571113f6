/* A small correct program, for tools that programs are run with: messages of all sizes between buffers that
 * are allocated and freed for each, collectives, windows, files' worth of datatypes, and all freed at the
 * end. It prints "exercise: right" at rank 0.
 *
 * Its argument makes it wrong in one way, which a tool should find: `overflow` writes behind a buffer that a
 * message came into, `use-after-free` reads one that was freed, `leak` forgets one, `undefined` shifts by too
 * much, `uninitialised` decides by a byte that nobody wrote, `segfault` and `abort` end rank 1 with a core.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static int wrong;

static const int kSizes[] = {0, 1, 8, 40, 41, 1000, 1001, 5000, 16384, 70000, 300000, 2000000};
enum { kSizesCount = sizeof kSizes / sizeof kSizes[0] };

static unsigned char byte_at(int from, int size, int i) {
  return (unsigned char)(from * 31 + size * 7 + i);
}

static void expect(int good, const char* what) {
  if (good) return;
  wrong = 1;
  fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
}

static unsigned char* made(int size) {
  unsigned char* buffer = malloc(size > 0 ? (size_t)size : 1);
  for (int i = 0; i < size; ++i) buffer[i] = byte_at(rank, size, i);
  return buffer;
}

static int is_from(int from, int size, const unsigned char* buffer) {
  for (int i = 0; i < size; ++i)
    if (buffer[i] != byte_at(from, size, i)) return 0;
  return 1;
}

static void messages(void) {
  const int peer = rank ^ 1;
  if (peer >= ranks) return;
  for (int i = 0; i < kSizesCount; ++i) {
    const int size = kSizes[i];
    unsigned char *out = made(size), *in = malloc((size_t)size + 1);
    MPI_Status status;
    MPI_Sendrecv(out, size, MPI_BYTE, peer, i, in, size, MPI_BYTE, peer, i, MPI_COMM_WORLD, &status);
    expect(is_from(peer, size, in) && status.MPI_SOURCE == peer, "MPI_Sendrecv");
    free(in);
    in = malloc((size_t)size + 1);
    MPI_Request both[2];
    if (i % 2 == 0) MPI_Irecv(in, size, MPI_BYTE, peer, i, MPI_COMM_WORLD, &both[0]);
    if (i % 3 == 0)
      MPI_Issend(out, size, MPI_BYTE, peer, i, MPI_COMM_WORLD, &both[1]);
    else
      MPI_Isend(out, size, MPI_BYTE, peer, i, MPI_COMM_WORLD, &both[1]);
    if (i % 2 != 0) MPI_Irecv(in, size, MPI_BYTE, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &both[0]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    expect(is_from(peer, size, in), "MPI_Isend");
    free(out);
    free(in);
  }
}

static void datatypes(void) {
  const int peer = rank ^ 1;
  if (peer >= ranks) return;
  enum { kRows = 300, kColumns = 200 };
  int *matrix = malloc(sizeof *matrix * kRows * kColumns), *column = malloc(sizeof *column * kRows * 3);
  for (int i = 0; i < kRows * kColumns; ++i) matrix[i] = rank * 1000000 + i;
  MPI_Datatype three_columns;
  MPI_Type_vector(kRows, 3, kColumns, MPI_INT, &three_columns);
  MPI_Type_commit(&three_columns);
  MPI_Sendrecv(matrix, 1, three_columns, peer, 0, column, kRows * 3, MPI_INT, peer, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int row = 0; row < kRows; ++row)
    for (int i = 0; i < 3; ++i)
      expect(column[row * 3 + i] == peer * 1000000 + row * kColumns + i, "a column");
  MPI_Type_free(&three_columns);
  free(matrix);
  free(column);
}

static void collectives(void) {
  MPI_Comm world;
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  for (int count = 1; count <= 100000; count *= 316) {
    double *in = malloc(sizeof *in * count * ranks), *out = malloc(sizeof *out * count * ranks);
    for (int i = 0; i < count * ranks; ++i) in[i] = rank + i;
    MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, world);
    for (int i = 0; i < count; ++i) expect(out[i] == ranks * (ranks - 1) / 2 + ranks * i, "MPI_Allreduce");
    MPI_Bcast(out, count, MPI_DOUBLE, ranks - 1, world);
    MPI_Alltoall(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, world);
    for (int i = 0; i < count * ranks; ++i)
      expect(out[i] == i / count + rank * count + i % count, "MPI_Alltoall");
    MPI_Gather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, 0, world);
    MPI_Request request;
    MPI_Iallgather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < count * ranks; ++i) expect(out[i] == i / count + i % count, "MPI_Iallgather");
    free(in);
    free(out);
  }
  MPI_Barrier(world);
  MPI_Comm_free(&world);
}

static void use_window(MPI_Win window, int* memory, int count) {
  const int peer = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  int* mine = malloc(sizeof *mine * count);
  for (int i = 0; i < count; ++i) mine[i] = rank * count + i;
  MPI_Win_fence(0, window);
  MPI_Put(mine, count, MPI_INT, peer, 0, count, MPI_INT, window);
  MPI_Win_fence(0, window);
  for (int i = 0; i < count; ++i) expect(memory[i] == before * count + i, "MPI_Put");
  MPI_Win_fence(0, window);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  const int one = 1;
  MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_unlock(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  int first = 0;
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
  MPI_Get(&first, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  MPI_Win_unlock(0, window);
  expect(first == (ranks - 1) * count + ranks, "MPI_Accumulate");
  free(mine);
}

static void windows(void) {
  for (int count = 4; count <= 40000; count *= 100) {
    int* memory;
    MPI_Win window;
    MPI_Win_allocate((MPI_Aint)sizeof(int) * count, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &window);
    use_window(window, memory, count);
    MPI_Win_free(&window);
    memory = malloc(sizeof(int) * count);
    MPI_Win_create(memory, (MPI_Aint)sizeof(int) * count, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &window);
    use_window(window, memory, count);
    MPI_Win_free(&window);
    free(memory);
    MPI_Alloc_mem((MPI_Aint)sizeof(int) * count, MPI_INFO_NULL, &memory);
    for (int i = 0; i < count; ++i) memory[i] = i;
    MPI_Bcast(memory, count, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Free_mem(memory);
  }
}

/* ----- what is wrong -------------------------------------------------------------------------------------
 */

static unsigned char* volatile hidden; /* from the compiler, which sees some of the mistakes itself */

static unsigned char* received(int size) {
  unsigned char *out = made(size), *in = malloc((size_t)size);
  MPI_Sendrecv(out, size, MPI_BYTE, rank ^ 1, 0, in, size, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  free(out);
  return in;
}

static void do_wrong(const char* what) {
  const volatile int size = 3000;
  unsigned char* buffer = received(size);
  if (strcmp(what, "overflow") == 0) {
    buffer[size] = 1;
  } else if (strcmp(what, "use-after-free") == 0) {
    hidden = buffer;
    free(buffer);
    printf("%d\n", hidden[7]);
    return;
  } else if (strcmp(what, "leak") == 0) {
    buffer = NULL;
  } else if (strcmp(what, "undefined") == 0) {
    const volatile int places = 40 + rank;
    printf("%d\n", 1 << places);
  } else if (strcmp(what, "uninitialised") == 0) {
    hidden = malloc(size);
    if (hidden[size / 2] == 1) puts("one");
    free(hidden);
  } else if (rank == 1 && strcmp(what, "segfault") == 0) {
    *(volatile int*)16 = 1;
  } else if (rank == 1 && strcmp(what, "abort") == 0) {
    abort();
  }
  free(buffer);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  messages();
  if (argc > 1) {
    do_wrong(argv[1]);
  } else {
    datatypes();
    collectives();
    windows();
  }
  int all_wrong = 0;
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && !all_wrong) puts("exercise: right");
  return wrong;
}

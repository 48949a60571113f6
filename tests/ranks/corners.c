/* Corners of the collectives that the random tests do not reach; the argument names one, or is missing for
 * all that end well. Every value is worked out here from the ranks alone. */
#include <complex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

static int rank, size;

/* ---- types whose kinds are rare, by quick and by large collectives ---- */

#define SUMS(NAME, TYPE, MPI_NAME)                                                                        \
  static void NAME(int count) {                                                                           \
    TYPE* in = malloc((size_t)count * sizeof *in);                                                        \
    TYPE* out = malloc((size_t)count * sizeof *out);                                                      \
    for (int i = 0; i < count; ++i) in[i] = (TYPE)((TYPE)(rank + 1) * (TYPE)(i % 100));                   \
    MPI_Allreduce(in, out, count, MPI_NAME, MPI_SUM, MPI_COMM_WORLD);                                     \
    for (int i = 0; i < count; ++i)                                                                       \
      CHECK(out[i] == (TYPE)((TYPE)(size * (size + 1) / 2) * (TYPE)(i % 100)), "allreduce, count %d: %d", \
            count, i);                                                                                    \
    MPI_Scan(in, out, count, MPI_NAME, MPI_PROD, MPI_COMM_WORLD);                                         \
    TYPE product = 1;                                                                                     \
    for (int r = 0; r <= rank; ++r) product *= (TYPE)(r + 1);                                             \
    for (int i = 0; i < count; ++i) {                                                                     \
      TYPE power = 1;                                                                                     \
      for (int r = 0; r <= rank; ++r) power *= (TYPE)(i % 100);                                           \
      if (i % 100 < 5) CHECK(out[i] == (TYPE)(product * power), "scan, count %d: %d", count, i);          \
    }                                                                                                     \
    free(in);                                                                                             \
    free(out);                                                                                            \
  }
SUMS(long_doubles, long double, MPI_LONG_DOUBLE)
SUMS(complexes, double complex, MPI_C_DOUBLE_COMPLEX)
SUMS(long_complexes, long double complex, MPI_C_LONG_DOUBLE_COMPLEX)
SUMS(bytes, uint8_t, MPI_UINT8_T)
SUMS(shorts, int16_t, MPI_INT16_T)

static void logicals(int count) {
  _Bool* in = malloc((size_t)count * sizeof *in);
  _Bool* out = malloc((size_t)count * sizeof *out);
  for (int i = 0; i < count; ++i) in[i] = i % size == rank || i % 2;
  MPI_Reduce(in, out, count, MPI_C_BOOL, MPI_LXOR, size - 1, MPI_COMM_WORLD);
  for (int i = 0; rank == size - 1 && i < count; ++i)
    CHECK(out[i] == (i % 2 ? size % 2 : 1), "logical %d of %d", i, count);
  free(in);
  free(out);
}

/* A pair with a gap behind it: only its two parts are the operation's. */
static void pairs(int count) {
  struct pair {
    double value;
    int index;
  }* in = calloc((size_t)count, sizeof *in);
  struct pair* out = calloc((size_t)count, sizeof *out);
  for (int i = 0; i < count; ++i) in[i] = (struct pair){i % 3 ? (rank + i) % size : 7, rank};
  MPI_Allreduce(in, out, count, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) {
    const int index = i % 3 ? (size - 1 - i % size + size) % size : 0;
    CHECK(out[i].value == (i % 3 ? size - 1 : 7) && out[i].index == index, "pair %d of %d", i, count);
  }
  free(in);
  free(out);
}

static void rare_types(void) {
  const int counts[] = {1, 5, 300, 20000};
  for (int i = 0; i < 4; ++i) {
    long_doubles(counts[i]);
    complexes(counts[i]);
    long_complexes(counts[i]);
    bytes(counts[i]);
    shorts(counts[i]);
    logicals(counts[i]);
    pairs(counts[i]);
  }
}

/* ---- MPI_BOTTOM, with types that say where the data lies ---- */

static void bottom_of(int count) {
  int* data = malloc(2 * (size_t)count * sizeof *data);
  int* sum = malloc((size_t)count * sizeof *sum);
  for (int i = 0; i < count; ++i) data[i] = data[count + i] = rank == 0 ? i : -1;
  MPI_Aint places[2];
  MPI_Get_address(data, &places[0]);
  MPI_Get_address(data + count, &places[1]);
  const int lengths[] = {count, count};
  MPI_Datatype both, one;
  MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &both);
  MPI_Type_create_hindexed(1, lengths, places, MPI_INT, &one);
  MPI_Type_commit(&both);
  MPI_Type_commit(&one);
  MPI_Bcast(MPI_BOTTOM, 1, both, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 2 * count; ++i) CHECK(data[i] == i % count, "bcast %d of %d", i, count);
  int* all = malloc((size_t)size * (size_t)count * sizeof *all);
  data[0] = rank;
  MPI_Gather(MPI_BOTTOM, 1, one, all, count, MPI_INT, size - 1, MPI_COMM_WORLD);
  for (int r = 0; rank == size - 1 && r < size; ++r)
    CHECK(all[r * count] == r, "gather of %d from %d", count, r);
  MPI_Allgather(MPI_BOTTOM, 1, one, all, count, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < count; ++i)
      CHECK(all[r * count + i] == (i ? i : r), "allgather of %d from %d", count, r);
  MPI_Scatter(all, count, MPI_INT, MPI_BOTTOM, 1, one, 0, MPI_COMM_WORLD);
  CHECK(data[0] == rank, "scatter of %d", count);
  free(all);
  free(sum);
  free(data);
  MPI_Type_free(&both);
  MPI_Type_free(&one);
}

static void bottom(void) {
  const int counts[] = {1, 100, 50000};
  for (int i = 0; i < 3; ++i) bottom_of(counts[i]);
}

/* ---- collectives inside callbacks, on another communicator ---- */

static MPI_Comm other;

static int copy_together(MPI_Comm comm, int key, void* extra, void* value, void* copied, int* flag) {
  (void)comm, (void)key, (void)extra;
  int sum;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, other);
  CHECK(sum == size * (size - 1) / 2, "the sum in a copy callback is %d", sum);
  *(void**)copied = (char*)value + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

static int delete_together(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value;
  MPI_Request request;
  int data[2000] = {rank == 0 ? 42 : 0};
  MPI_Ibcast(data, 2000, MPI_INT, 0, other, &request);
  MPI_Barrier(other);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(data[0] == 42, "the bcast in a delete callback gave %d", data[0]);
  ++*(int*)extra;
  return MPI_SUCCESS;
}

static void callbacks(void) {
  int key, deleted = 0;
  MPI_Comm first, second;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Comm_create_keyval(copy_together, delete_together, &key, &deleted);
  MPI_Comm_set_attr(first, key, &deleted);
  MPI_Comm_dup(first, &second);
  MPI_Comm_free(&first);
  MPI_Comm_free(&second);
  CHECK(deleted == 2, "%d delete callbacks", deleted);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_free(&other);
}

/* ---- more calls under way than a node segment has lines, and the blocking ones overtake them ---- */

static void many_under_way(void) {
  enum { kMany = 40 };
  MPI_Request requests[2 * kMany];
  int sums[kMany], blocks[kMany][64];
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < kMany; ++i) {
    MPI_Iallreduce(&rank, &sums[i], 1, MPI_INT, MPI_SUM, comm, &requests[2 * i]);
    MPI_Iallgather(&rank, 1, MPI_INT, blocks[i], 1, MPI_INT, comm, &requests[2 * i + 1]);
    int least = -1;
    if (i % 3 == rank % 3) usleep(200);
    MPI_Allreduce(&rank, &least, 1, MPI_INT, MPI_MIN, comm);
    CHECK(least == 0, "the least rank is %d", least);
  }
  MPI_Comm_free(&comm); /* with all of them under way */
  for (int i = 2 * kMany - 1; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  for (int i = 0; i < kMany; ++i) {
    CHECK(sums[i] == size * (size - 1) / 2, "sum %d is %d", i, sums[i]);
    for (int r = 0; r < size; ++r) CHECK(blocks[i][r] == r, "block %d of %d is %d", r, i, blocks[i][r]);
  }
}

/* ---- a communicator for each turn: stages are made and given back ---- */

static void many_communicators(void) {
  for (int turn = 0; turn < 200; ++turn) {
    MPI_Comm comm;
    int sum;
    MPI_Comm_split(MPI_COMM_WORLD, turn % 3 == 0 ? rank % 2 : 0, turn % 2 ? rank : -rank, &comm);
    int members;
    MPI_Comm_size(comm, &members);
    const int one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == members, "turn %d: %d of %d", turn, sum, members);
    if (turn % 5 == 0) {
      int* data = malloc(100000 * sizeof *data);
      for (int i = 0; i < 100000; ++i) data[i] = 1;
      MPI_Allreduce(MPI_IN_PLACE, data, 100000, MPI_INT, MPI_SUM, comm);
      CHECK(data[99999] == members, "turn %d: %d of %d", turn, data[99999], members);
      free(data);
    }
    MPI_Comm_free(&comm);
  }
}

/* ---- blocks that lie gigabytes apart, of which little is touched ---- */

static void far_apart(void) {
  const MPI_Aint gap = (MPI_Aint)3 << 30;
  const size_t room = (size_t)gap * (size_t)size;
  int* in = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int* out = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(in != MAP_FAILED && out != MAP_FAILED, "mmap of %zu bytes", room);
  MPI_Datatype far;
  MPI_Type_create_resized(MPI_INT, 0, gap, &far);
  MPI_Type_commit(&far);
#define AT(BUFFER, BLOCK) *(int*)((char*)(BUFFER) + gap * (BLOCK))
  MPI_Allgather(&rank, 1, MPI_INT, in, 1, far, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) CHECK(AT(in, r) == r, "allgather: %d from %d", AT(in, r), r);
  for (int r = 0; r < size; ++r) AT(out, r) = 100 * rank + r;
  MPI_Alltoall(out, 1, far, in, 1, far, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) CHECK(AT(in, r) == 100 * r + rank, "alltoall: %d from %d", AT(in, r), r);
  int own = -1;
  MPI_Scatter(out, 1, far, &own, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
  CHECK(own == 100 * (size - 1) + rank, "scatter: %d", own);
  own = rank + 7;
  MPI_Gather(&own, 1, MPI_INT, in, 1, far, 0, MPI_COMM_WORLD);
  for (int r = 0; rank == 0 && r < size; ++r) CHECK(AT(in, r) == r + 7, "gather: %d from %d", AT(in, r), r);
  /* The same by displacements of more than 2^31. */
  MPI_Count* counts = malloc((size_t)size * sizeof *counts);
  MPI_Aint* places = malloc((size_t)size * sizeof *places);
  for (int r = 0; r < size; ++r) counts[r] = r % 2, places[r] = gap / 4 * r;
  for (int r = 0; r < size; ++r) AT(in, r) = -1;
  MPI_Allgatherv_c(&rank, rank % 2, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) CHECK(AT(in, r) == (r % 2 ? r : -1), "allgatherv: %d from %d", AT(in, r), r);
  for (int r = 0; r < size; ++r) counts[r] = (r + rank) % 2;
  MPI_Alltoallv_c(out, counts, places, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) {
    if ((r + rank) % 2) CHECK(AT(in, r) == 100 * r + rank, "alltoallv: %d from %d", AT(in, r), r);
  }
#undef AT
  free(counts);
  free(places);
  MPI_Type_free(&far);
  munmap(in, room);
  munmap(out, room);
}

/* ---- more bytes than an int counts; for machines with the memory ---- */

static void more_than_2_31(void) {
  const MPI_Count count = ((MPI_Count)1 << 31) + 4097;
  unsigned char* data = malloc((size_t)count);
  const MPI_Count places[] = {0, 4096, ((MPI_Count)1 << 31) - 1, (MPI_Count)1 << 31, count - 1};
  memset(data, rank + 1, (size_t)count);
  MPI_Bcast_c(data, count, MPI_UINT8_T, size - 1, MPI_COMM_WORLD);
  for (int i = 0; i < 5; ++i) CHECK(data[places[i]] == size, "bcast: byte %d is %d", i, data[places[i]]);
  memset(data, rank + 1, (size_t)count);
  MPI_Allreduce_c(MPI_IN_PLACE, data, count, MPI_UINT8_T, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < 5; ++i)
    CHECK(data[places[i]] == size * (size + 1) / 2, "allreduce: byte %d is %d", i, data[places[i]]);
  MPI_Request request;
  const MPI_Count block = count / size;
  memset(data + rank * block, rank + 3, (size_t)block);
  MPI_Iallgather_c(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, block, MPI_UINT8_T, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int r = 0; r < size; ++r)
    CHECK(data[r * block] == r + 3 && data[(r + 1) * block - 1] == r + 3, "allgather: from %d", r);
  free(data);
}

/* ---- what ends the job ---- */

static void abort_in_op(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void ends_badly(const char* how, int count) {
  double* in = calloc((size_t)count, sizeof *in);
  double* out = calloc((size_t)count, sizeof *out);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(how, "abort") == 0) {
    MPI_Op op;
    MPI_Op_create(abort_in_op, 1, &op);
    MPI_Allreduce(in, out, count, MPI_DOUBLE, op, MPI_COMM_WORLD);
  }
  for (int turn = 0;; ++turn) {
    if (turn == 20 && rank == size - 1 && strcmp(how, "exit") == 0) exit(0);
    if (turn == 20 && rank == size - 1) abort();
    MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Request request;
    MPI_Ibcast(in, count, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc == 3) ends_badly(argv[1], atoi(argv[2]));
  if (argc == 2) more_than_2_31();
  rare_types();
  bottom();
  callbacks();
  many_under_way();
  many_communicators();
  far_apart();
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}

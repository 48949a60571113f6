// Accumulates of all sizes that meet: every rank adds to the same elements of every rank's window, in single
// elements and in long runs, dense and strided, by all calls that combine; nothing may be lost. Then every
// predefined operation on types of every kind, with the result that a reduction gives.
//
// Argument: a value of mpi_accumulate_granularity, or "-"; "threads" behind it: each rank does it with three
// threads.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kElements = 9000, kRounds = 30, kThreads = 3 };

static int rank, size;
static MPI_Info info = MPI_INFO_NULL;

typedef struct {
  MPI_Win win;
  int thread;
} Work;

// What one thread of one rank adds to each element of every window in a round, by the index of the element.
static long singles_at(int index, int thread) {
  return index % 41 == thread;
}

static void add_round(MPI_Win win, int thread, int round, const long* ones, long* old) {
  MPI_Datatype strided;
  MPI_Type_vector(kElements / 4, 2, 4, MPI_LONG, &strided);
  MPI_Type_commit(&strided);
  for (int step = 0; step < size; ++step) {
    const int target = (rank + step) % size;
    if ((round + rank + thread) % 3 == 0)
      MPI_Accumulate(ones, kElements, MPI_LONG, target, 0, kElements, MPI_LONG, MPI_SUM, win);
    else if ((round + rank + thread) % 3 == 1)
      MPI_Get_accumulate(ones, kElements, MPI_LONG, old, kElements, MPI_LONG, target, 0, kElements, MPI_LONG,
                         MPI_SUM, win);
    else {
      // Both halves of a pattern of twos.
      MPI_Accumulate(ones, kElements / 2, MPI_LONG, target, 0, 1, strided, MPI_SUM, win);
      MPI_Accumulate(ones, kElements / 2, MPI_LONG, target, 2, 1, strided, MPI_SUM, win);
    }
    for (int index = thread; index < kElements; index += 41) {
      long before = 0;
      if (index % 2 == 0)
        MPI_Fetch_and_op(ones, &before, MPI_LONG, target, index, MPI_SUM, win);
      else
        MPI_Accumulate(ones, 1, MPI_LONG, target, index, 1, MPI_LONG, MPI_SUM, win);
    }
    MPI_Win_flush(target, win);
  }
  MPI_Type_free(&strided);
}

static void* add_all(void* context) {
  Work* work = context;
  long* ones = malloc(kElements * sizeof(long));
  long* old = malloc(kElements * sizeof(long));
  for (int i = 0; i < kElements; ++i) ones[i] = 1;
  for (int round = 0; round < kRounds; ++round) add_round(work->win, work->thread, round, ones, old);
  free(ones);
  free(old);
  return NULL;
}

/// Sums at once, by `threads` threads of each rank.
static void sums(int threads) {
  long* memory = NULL;
  MPI_Win win;
  MPI_Win_allocate(kElements * sizeof(long), sizeof(long), info, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_fence(0, win);
  memset(memory, 0, kElements * sizeof(long));
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Win_lock_all(0, win);
  pthread_t others[kThreads];
  Work work[kThreads];
  for (int thread = 0; thread < threads; ++thread) {
    work[thread] = (Work){win, thread};
    if (thread > 0) pthread_create(&others[thread], NULL, add_all, &work[thread]);
  }
  add_all(&work[0]);
  for (int thread = 1; thread < threads; ++thread) pthread_join(others[thread], NULL);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int index = 0; index < kElements; ++index) {
    long wanted = 0;
    for (int thread = 0; thread < threads; ++thread)
      wanted += (1 + singles_at(index, thread)) * kRounds * size;
    CHECK(memory[index] == wanted, "element %d is %ld, expected %ld", index, memory[index], wanted);
  }
  MPI_Win_free(&win);
}

typedef struct {
  double value;
  int index;
} DoubleInt;

/// The greatest of what all ranks offer, and where it came from; of single pairs and of many.
static void pairs(void) {
  enum { kPairs = 3000 };
  DoubleInt* memory = NULL;
  MPI_Win win;
  MPI_Win_allocate(kPairs * sizeof(DoubleInt), sizeof(DoubleInt), info, MPI_COMM_WORLD, &memory, &win);
  DoubleInt* mine = calloc(kPairs, sizeof *mine);
  for (int i = 0; i < kPairs; ++i) {
    memory[i] = (DoubleInt){-1, -1};
    mine[i] = (DoubleInt){(double)((rank * 7 + i) % size), rank};
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int target = 0; target < size; ++target) {
    MPI_Accumulate(mine, kPairs, MPI_DOUBLE_INT, target, 0, kPairs, MPI_DOUBLE_INT, MPI_MAXLOC, win);
    for (int i = rank; i < kPairs; i += 100)
      MPI_Accumulate(&mine[i], 1, MPI_DOUBLE_INT, target, i, 1, MPI_DOUBLE_INT, MPI_MAXLOC, win);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kPairs; ++i) {
    DoubleInt wanted = {-1, -1};
    for (int other = 0; other < size; ++other) {
      const double value = (double)((other * 7 + i) % size);
      if (value > wanted.value) wanted = (DoubleInt){value, other};
    }
    CHECK(memory[i].value == wanted.value && memory[i].index == wanted.index, "pair %d is %g, %d", i,
          memory[i].value, memory[i].index);
  }
  free(mine);
  MPI_Win_free(&win);
}

/// Every operation that is defined for `type`: the same as MPI_Reduce_local gives, element by element, for
/// one, few and many elements between fences. Rank 0 alone combines at the last rank.
static void operations(MPI_Datatype type) {
  const MPI_Op ops[] = {MPI_SUM,  MPI_PROD, MPI_MIN, MPI_MAX,  MPI_BAND,   MPI_BOR,
                        MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MINLOC, MPI_MAXLOC};
  enum { kMany = 5000 };
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  const size_t bytes = (size_t)extent * kMany;
  unsigned char* memory = NULL;
  MPI_Win win;
  MPI_Win_allocate((MPI_Aint)bytes, (int)extent, info, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  unsigned char* in = calloc(2, bytes);
  unsigned char* wanted = calloc(2, bytes);
  unsigned char* old = calloc(2, bytes);
  for (size_t o = 0; o < sizeof ops / sizeof ops[0]; ++o) {
    for (int count = 1; count <= kMany; count *= count < 10 ? 3 : 80) {
      for (size_t i = 0; i < bytes; ++i) in[i] = (unsigned char)(i % (size_t)extent == 0 ? i / 8 % 5 + 1 : 0);
      for (size_t i = 0; i < bytes; ++i)
        memory[i] = (unsigned char)(i % (size_t)extent == 0 ? i / 8 % 3 + 1 : 0);
      memcpy(wanted, memory, bytes);
      MPI_Win_fence(0, win);
      int code = MPI_SUCCESS;
      if (rank == 0)
        code = MPI_Get_accumulate(in, count, type, old, count, type, size - 1, 0, count, type, ops[o], win);
      MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
      if (rank == 0 && code == MPI_SUCCESS)
        CHECK(memcmp(old, wanted, (size_t)(extent * (count - 1))) == 0, "operation %zu: wrong old data", o);
      MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
      if (code != MPI_SUCCESS) break;
      CHECK(MPI_Reduce_local(in, wanted, count, type, ops[o]) == MPI_SUCCESS, "operation %zu is not known",
            o);
      if (rank == size - 1)
        CHECK(memcmp(memory, wanted, bytes) == 0, "operation %zu on %d elements", o, count);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  free(in);
  free(wanted);
  free(old);
  MPI_Win_free(&win);
}

/// Every call with MPI_PROC_NULL, before and after a call of its kind that has a target.
static void nowhere(void) {
  long* memory = NULL;
  long one = 1, old = 7;
  MPI_Win win;
  MPI_Win_allocate(sizeof(long), sizeof(long), info, MPI_COMM_WORLD, &memory, &win);
  *memory = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int turn = 0; turn < 2; ++turn) {
    const int target = turn == 0 ? MPI_PROC_NULL : rank;
    MPI_Request requests[4];
    for (int again = 0; again < 2; ++again) {
      const int to = again == 0 ? target : MPI_PROC_NULL;
      MPI_Put(&one, 1, MPI_LONG, to, 0, 1, MPI_LONG, win);
      MPI_Get(&old, 1, MPI_LONG, to, 0, 1, MPI_LONG, win);
      MPI_Accumulate(&one, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, win);
      MPI_Get_accumulate(&one, 1, MPI_LONG, &old, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, win);
      MPI_Fetch_and_op(&one, &old, MPI_LONG, to, 0, MPI_SUM, win);
      MPI_Compare_and_swap(&one, &one, &old, MPI_LONG, to, 0, win);
      MPI_Rput(&one, 1, MPI_LONG, to, 0, 1, MPI_LONG, win, &requests[0]);
      MPI_Rget(&old, 1, MPI_LONG, to, 0, 1, MPI_LONG, win, &requests[1]);
      MPI_Raccumulate(&one, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, win, &requests[2]);
      MPI_Rget_accumulate(&one, 1, MPI_LONG, &old, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, win,
                          &requests[3]);
      MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
      MPI_Win_flush(to, win);
      CHECK(old == (turn == 0 ? 7 : 2), "a fetch gave %ld", old);
    }
  }
  MPI_Win_unlock_all(win);
  CHECK(*memory == 3, "the window has %ld", *memory);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  const int threads = argc > 2 && strcmp(argv[2], "threads") == 0 ? kThreads : 1;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Info_create(&info);
  if (argc > 1 && strcmp(argv[1], "-") != 0) MPI_Info_set(info, "mpi_accumulate_granularity", argv[1]);
  nowhere();
  sums(threads);
  pairs();
  const MPI_Datatype types[] = {MPI_INT8_T,
                                MPI_SHORT,
                                MPI_INT,
                                MPI_LONG,
                                MPI_UINT64_T,
                                MPI_FLOAT,
                                MPI_DOUBLE,
                                MPI_LONG_DOUBLE,
                                MPI_C_FLOAT_COMPLEX,
                                MPI_C_DOUBLE_COMPLEX,
                                MPI_BYTE,
                                MPI_C_BOOL,
                                MPI_2INT,
                                MPI_DOUBLE_INT,
                                MPI_SHORT_INT,
                                MPI_LONG_INT,
                                MPI_FLOAT_INT,
                                MPI_LONG_DOUBLE_INT,
                                MPI_AINT};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) operations(types[i]);
  MPI_Info_free(&info);
  MPI_Finalize();
  if (rank == 0) puts("accumulates: right");
  return 0;
}

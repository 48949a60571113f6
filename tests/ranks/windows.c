/* Windows of every flavor: what each rank put, got and accumulated arrives, under every way to synchronize.
   With the argument "errors": what is not legal is told by the window's error handler, and the window goes
   on. With "mixed": the memory that odd ranks bring is none of malloc's, so it is private whatever malloc is.
   With "global" and "private" (of malloc's memory): what MPI allocates has one address in all ranks. With
   "nodes" the ranks are on several nodes, and nothing is shared by all of them. With
   "closed" and "closed-late" the program closes all descriptors that it does not know, before or after
   MPI_Init: what peers cannot open is private to them. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { SLOTS = 64 };
static int rank, size;
static const char* flavor_name;
static int mixed;

typedef struct {
  MPI_Win win;
  long* base;
  MPI_Aint* places; /* where each rank's slots are: displacements */
} Window;

static void close_descriptors(void) {
  for (int fd = 3; fd < 2000; ++fd) close(fd);
}

static void* take(size_t bytes) {
  if (!mixed || rank % 2 == 0) return malloc(bytes);
  void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED, "mmap");
  return memory;
}

static void give_back(void* memory, size_t bytes) {
  if (!mixed || rank % 2 == 0) {
    free(memory);
  } else {
    munmap(memory, bytes);
  }
}

static Window make(int flavor, MPI_Info info) {
  static const char* names[] = {"create", "allocate", "dynamic", "shared"};
  Window made = {MPI_WIN_NULL, NULL, calloc((size_t)size, sizeof(MPI_Aint))};
  const MPI_Aint bytes = SLOTS * (MPI_Aint)sizeof(long);
  MPI_Aint own = 0;
  flavor_name = names[flavor];
  if (flavor == 0 || flavor == 2) made.base = take((size_t)bytes);
  if (flavor == 0) MPI_Win_create(made.base, bytes, sizeof(long), info, MPI_COMM_WORLD, &made.win);
  if (flavor == 1) MPI_Win_allocate(bytes, sizeof(long), info, MPI_COMM_WORLD, &made.base, &made.win);
  if (flavor == 3) MPI_Win_allocate_shared(bytes, sizeof(long), info, MPI_COMM_WORLD, &made.base, &made.win);
  if (flavor == 2) {
    MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &made.win);
    MPI_Win_attach(made.win, made.base, bytes);
    MPI_Get_address(made.base, &own);
  }
  memset(made.base, 0, (size_t)bytes);
  MPI_Allgather(&own, 1, MPI_AINT, made.places, 1, MPI_AINT, MPI_COMM_WORLD);
  return made;
}

static void unmake(Window* window) {
  int* flavor = NULL;
  int found = 0;
  MPI_Win_get_attr(window->win, MPI_WIN_CREATE_FLAVOR, &flavor, &found);
  const int own = *flavor == MPI_WIN_FLAVOR_CREATE || *flavor == MPI_WIN_FLAVOR_DYNAMIC;
  if (*flavor == MPI_WIN_FLAVOR_DYNAMIC) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(window->win, window->base);
  }
  MPI_Win_free(&window->win);
  CHECK(window->win == MPI_WIN_NULL, "the handle is still there");
  if (own) give_back(window->base, SLOTS * sizeof(long));
  free(window->places);
}

/* The displacement of a slot of a rank: in units of the window, which are bytes in a dynamic one. */
static MPI_Aint at(const Window* window, int target, int slot) {
  return window->places[target] != 0 ? window->places[target] + slot * (MPI_Aint)sizeof(long) : slot;
}

static void fences(Window* window) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int round = 0; round < 20; ++round) {
    long value = 1000 * rank + round, got = -1;
    MPI_Win_fence(round == 0 ? MPI_MODE_NOPRECEDE : 0, window->win);
    MPI_Put(&value, 1, MPI_LONG, right, at(window, right, round), 1, MPI_LONG, window->win);
    MPI_Win_fence(0, window->win);
    CHECK(window->base[round] == 1000 * left + round, "%s: slot %d is %ld", flavor_name, round,
          window->base[round]);
    MPI_Get(&got, 1, MPI_LONG, left, at(window, left, round), 1, MPI_LONG, window->win);
    MPI_Win_fence(round == 19 ? MPI_MODE_NOSUCCEED : 0, window->win);
    CHECK(got == 1000 * ((rank + size - 2) % size) + round || size == 1, "%s: got %ld", flavor_name, got);
  }
}

static void post_start_complete_wait(Window* window) {
  MPI_Group all, left_group, right_group;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Win_get_group(window->win, &all);
  MPI_Group_incl(all, 1, &left, &left_group);
  MPI_Group_incl(all, 1, &right, &right_group);
  for (long round = 0; round < 50; ++round) {
    long value = rank * 100 + round;
    MPI_Win_post(left_group, 0, window->win);
    MPI_Win_start(right_group, 0, window->win);
    MPI_Put(&value, 1, MPI_LONG, right, at(window, right, 7), 1, MPI_LONG, window->win);
    MPI_Win_complete(window->win);
    if (round % 2 == 0) {
      MPI_Win_wait(window->win);
    } else {
      for (int flag = 0; !flag;) MPI_Win_test(window->win, &flag);
    }
    CHECK(window->base[7] == left * 100 + round, "%s: round %ld, slot 7 is %ld", flavor_name, round,
          window->base[7]);
  }
  MPI_Group_free(&all);
  MPI_Group_free(&left_group);
  MPI_Group_free(&right_group);
}

/* All ranks count at rank 0: under an exclusive lock by get and put, under a shared one atomically. */
static void locks(Window* window) {
  enum { ROUNDS = 30 };
  long zero = 0, one = 1, old = -1;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window->win);
  memset(window->base, 0, SLOTS * sizeof(long));
  MPI_Win_unlock(rank, window->win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < ROUNDS; ++round) {
    long value = -1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window->win);
    MPI_Get(&value, 1, MPI_LONG, 0, at(window, 0, 1), 1, MPI_LONG, window->win);
    MPI_Win_flush(0, window->win);
    ++value;
    MPI_Put(&value, 1, MPI_LONG, 0, at(window, 0, 1), 1, MPI_LONG, window->win);
    MPI_Win_unlock(0, window->win);

    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window->win);
    MPI_Accumulate(&one, 1, MPI_LONG, 0, at(window, 0, 2), 1, MPI_LONG, MPI_SUM, window->win);
    MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, at(window, 0, 3), MPI_SUM, window->win);
    MPI_Win_unlock(0, window->win);
    CHECK(old >= round && old < (long)ROUNDS * size, "%s: fetched %ld in round %d", flavor_name, old, round);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window->win);
  for (int slot = 1; slot <= 3; ++slot) {
    long sum = -1;
    MPI_Request request;
    MPI_Rget(&sum, 1, MPI_LONG, 0, at(window, 0, slot), 1, MPI_LONG, window->win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sum == (long)ROUNDS * size, "%s: slot %d counts %ld", flavor_name, slot, sum);
  }
  /* The first rank takes slot 4 by compare-and-swap. */
  long mine = rank + 1, winner = -1;
  MPI_Compare_and_swap(&mine, &zero, &old, MPI_LONG, 0, at(window, 0, 4), window->win);
  MPI_Win_flush_all(window->win);
  MPI_Fetch_and_op(NULL, &winner, MPI_LONG, 0, at(window, 0, 4), MPI_NO_OP, window->win);
  MPI_Win_unlock_all(window->win);
  CHECK(winner >= 1 && winner <= size, "%s: the winner is %ld", flavor_name, winner);
  CHECK(old == 0 ? winner == mine : old == winner, "%s: old %ld, winner %ld", flavor_name, old, winner);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Types that the processor has no instruction for, and derived ones. */
static void accumulates(Window* window) {
  typedef struct {
    double value;
    int index;
  } Pair;
  const int target = size - 1;
  MPI_Win_fence(0, window->win);
  memset(window->base, 0, SLOTS * sizeof(long));
  MPI_Win_fence(0, window->win);
  Pair pair = {rank % 3, rank};
  MPI_Accumulate(&pair, 1, MPI_DOUBLE_INT, target, at(window, target, 0), 1, MPI_DOUBLE_INT, MPI_MAXLOC,
                 window->win);
  long double wide = rank + 1;
  MPI_Accumulate(&wide, 1, MPI_LONG_DOUBLE, target, at(window, target, 8), 1, MPI_LONG_DOUBLE, MPI_SUM,
                 window->win);
  MPI_Datatype every_second;
  MPI_Type_vector(10, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  int ones[10];
  for (int i = 0; i < 10; ++i) ones[i] = i;
  MPI_Accumulate(ones, 10, MPI_INT, target, at(window, target, 16), 1, every_second, MPI_SUM, window->win);
  MPI_Type_free(&every_second);
  MPI_Win_fence(0, window->win);
  if (rank == target) {
    const Pair* best = (const Pair*)window->base;
    const int top = size > 2 ? 2 : size - 1;
    CHECK(best->value == top && best->index == (top == 0 ? 0 : top), "%s: maxloc %g %d", flavor_name,
          best->value, best->index);
    const long double sum = (long double)size * (size + 1) / 2;
    CHECK(*(const long double*)(window->base + 8) == sum, "%s: sum of long doubles", flavor_name);
    const int* sums = (const int*)(window->base + 16);
    for (int i = 0; i < 10; ++i) {
      CHECK(sums[2 * i] == i * size && (i == 9 || sums[2 * i + 1] == 0), "%s: sums[%d] = %d", flavor_name, i,
            sums[2 * i]);
    }
  }
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window->win);
}

/* A megabyte each way, with gaps at the target, and an accumulate and a fetch of as much. */
static void large(int flavor) {
  enum { COUNT = 1 << 18 };
  int *base = NULL, *data = malloc(COUNT * sizeof(int)), *back = malloc(COUNT * sizeof(int));
  MPI_Win win;
  const int target = (rank + 1) % size;
  if (flavor == 0) {
    base = take(2 * COUNT * sizeof(int));
    MPI_Win_create(base, 2 * COUNT * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  } else {
    MPI_Win_allocate(2 * COUNT * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  }
  MPI_Datatype gaps;
  MPI_Type_vector(COUNT, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  for (int i = 0; i < COUNT; ++i) data[i] = rank + i;
  memset(base, 0, 2 * COUNT * sizeof(int));
  MPI_Win_fence(0, win);
  MPI_Put(data, COUNT, MPI_INT, target, 0, 1, gaps, win);
  MPI_Win_fence(0, win);
  MPI_Accumulate(data, COUNT, MPI_INT, target, 0, 1, gaps, MPI_SUM, win);
  MPI_Win_fence(0, win);
  MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, back, COUNT, MPI_INT, target, 0, 1, gaps, MPI_NO_OP, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < COUNT; ++i) CHECK(back[i] == 2 * (rank + i), "back[%d] = %d", i, back[i]);
  MPI_Get(back, COUNT, MPI_INT, target, 1, COUNT, MPI_INT, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i + 1 < COUNT; i += 2) {
    CHECK(back[i] == 0 && back[i + 1] == 2 * (rank + i / 2 + 1), "gap[%d] = %d %d", i, back[i], back[i + 1]);
  }
  MPI_Type_free(&gaps);
  MPI_Win_free(&win);
  if (flavor == 0) give_back(base, 2 * COUNT * sizeof(int));
  free(data);
  free(back);
}

/* A part of five gigabytes, of which three pages are touched: displacements beyond 2^31 and 2^32 bytes. */
static void far(void) {
  const MPI_Aint bytes = rank == 0 ? (MPI_Aint)5 << 30 : 0;
  const MPI_Aint places[] = {((MPI_Aint)1 << 31) + 8, ((MPI_Aint)1 << 32) + 16, ((MPI_Aint)5 << 30) - 8};
  char* base;
  MPI_Win win;
  MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  for (int i = 0; i < 3 && rank == 0; ++i) *(long*)(base + places[i]) = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < 3; ++i) {
    long one = 1;
    MPI_Accumulate(&one, 1, MPI_LONG, 0, places[i], 1, MPI_LONG, MPI_SUM, win);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 3 && rank == 0; ++i) {
    CHECK(*(long*)(base + places[i]) == size, "far: place %d has %ld", i, *(long*)(base + places[i]));
  }
  MPI_Win_free(&win);
}

/* Contiguous megabytes, which both ends copy: puts and gets to the rank on the right, of sizes around the
   pieces, then read and changed by their owner. */
static void together(int flavor) {
  enum { BYTES = 3 << 20 };
  static const int sizes[] = {65535, 65536, 65537, 98304, 1000003, BYTES};
  unsigned char *base = NULL, *data = malloc(BYTES), *back = malloc(BYTES);
  MPI_Win win;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  if (flavor == 0) {
    base = take(BYTES);
    MPI_Win_create(base, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  } else {
    MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  }
  for (int round = 0; round < 12; ++round) {
    const int bytes = sizes[round % 6], offset = BYTES - bytes < 77 ? 0 : 77;
    for (int i = 0; i < bytes; ++i) data[i] = (unsigned char)(i * 7 + rank + round);
    memset(base, 255, BYTES);
    MPI_Win_fence(0, win);
    MPI_Put(data, bytes, MPI_BYTE, right, offset, bytes, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < bytes; ++i) {
      CHECK(base[offset + i] == (unsigned char)(i * 7 + left + round), "put: byte %d of %d is %d", i, bytes,
            base[offset + i]);
      base[offset + i] ^= 1;
    }
    CHECK(offset == 0 || (base[offset - 1] == 255 && base[offset + bytes] == 255), "put: more was written");
    MPI_Win_fence(0, win);
    MPI_Get(back, bytes, MPI_BYTE, right, offset, bytes, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < bytes; ++i) CHECK(back[i] == (data[i] ^ 1), "get: byte %d of %d", i, bytes);
  }
  MPI_Win_free(&win);
  if (flavor == 0) give_back(base, BYTES);
  free(data);
  free(back);
}

/* Memory in symmetric heaps has one address in all ranks: MPI_Win_shared_query tells the one that its owner
 * knows. */
static void same_address(void) {
  long *base, *its;
  int unit;
  MPI_Aint bytes;
  MPI_Win win;
  long** bases = malloc((size_t)size * sizeof *bases);
  MPI_Win_allocate((rank + 1) * 4096, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  MPI_Allgather(&base, sizeof base, MPI_BYTE, bases, sizeof base, MPI_BYTE, MPI_COMM_WORLD);
  base[0] = 1000 + rank;
  MPI_Win_fence(0, win);
  for (int other = 0; other < size; ++other) {
    MPI_Win_shared_query(win, other, &bytes, &unit, &its);
    CHECK(its == bases[other] && bytes == (other + 1) * 4096, "%p is %p here", (void*)bases[other],
          (void*)its);
    CHECK(its[0] == 1000 + other, "rank %d's memory has %ld", other, its[0]);
  }
  MPI_Win_free(&win);
  free(bases);
}

/* MPI_Alloc_mem gives such memory too, also where malloc does not. */
static void alloc_mem(void) {
  long *base, *its;
  int unit;
  MPI_Aint bytes;
  MPI_Win win;
  long** bases = malloc((size_t)size * sizeof *bases);
  MPI_Alloc_mem(8000, MPI_INFO_NULL, &base);
  MPI_Win_create(base, 8000, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Allgather(&base, sizeof base, MPI_BYTE, bases, sizeof base, MPI_BYTE, MPI_COMM_WORLD);
  for (int other = 0; other < size; ++other) {
    MPI_Win_shared_query(win, other, &bytes, &unit, &its);
    CHECK(its == bases[other] && bytes == 8000, "%p is %p here", (void*)bases[other], (void*)its);
  }
  MPI_Win_free(&win);
  MPI_Free_mem(base);
  free(bases);
}

/* The memory of shared windows is one piece, unless the hint allows gaps. */
static void shared(void) {
  MPI_Info info;
  MPI_Info_create(&info);
  for (int gaps = 0; gaps < 2; ++gaps) {
    MPI_Win win;
    int *base, *first = NULL;
    MPI_Info_set(info, "alloc_shared_noncontig", gaps ? "true" : "false");
    MPI_Win_allocate_shared((rank + 1) * sizeof(int), sizeof(int), info, MPI_COMM_WORLD, &base, &win);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int i = 0; i <= rank; ++i) base[i] = 100 * rank + i;
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    for (int other = 0, before = 0; other < size; before += ++other) {
      MPI_Aint bytes;
      int unit, *its;
      MPI_Win_shared_query(win, other, &bytes, &unit, &its);
      if (other == 0) first = its;
      CHECK(bytes == (other + 1) * (MPI_Aint)sizeof(int) && unit == sizeof(int), "rank %d has %ld bytes",
            other, (long)bytes);
      CHECK(gaps || its == first + before, "rank %d's memory does not follow", other);
      for (int i = 0; i <= other; ++i) CHECK(its[i] == 100 * other + i, "its[%d] = %d", i, its[i]);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
  }
  MPI_Info_free(&info);
}

static int handled;
static void count_error(MPI_Win* win, int* code, ...) {
  (void)win;
  (void)code;
  ++handled;
}

#define EXPECT(class_wanted, call)                                                  \
  do {                                                                              \
    const int before = handled, code = (call);                                      \
    int error_class;                                                                \
    MPI_Error_class(code, &error_class);                                            \
    CHECK(error_class == (class_wanted), "%s: class %d", #call, error_class);       \
    CHECK(handled == before + 1, "%s: the window's handler was not called", #call); \
  } while (0)

static void errors(int flavor) {
  MPI_Errhandler handler;
  MPI_Group world;
  long value = 5;
  Window window = make(flavor, MPI_INFO_NULL);
  const int dynamic = flavor == 2;
  const MPI_Aint start = at(&window, 0, 0);
  MPI_Win_create_errhandler(count_error, &handler);
  MPI_Win_set_errhandler(window.win, handler);
  MPI_Errhandler_free(&handler);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_LONG, 0, start, 1, MPI_LONG, window.win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, window.win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_flush(0, window.win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_complete(window.win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_wait(window.win));
  EXPECT(MPI_ERR_ASSERT, MPI_Win_fence(MPI_MODE_NOCHECK, window.win));
  EXPECT(MPI_ERR_LOCKTYPE, MPI_Win_lock(77, 0, 0, window.win));
  EXPECT(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, size, 0, window.win));
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.win);
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, window.win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, window.win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_start(world, 0, window.win));
  EXPECT(MPI_ERR_RMA_SYNC, MPI_Win_free(&window.win));
  EXPECT(MPI_ERR_RANK, MPI_Put(&value, 1, MPI_LONG, size, start, 1, MPI_LONG, window.win));
  if (size > 1) EXPECT(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_LONG, 1, start, 1, MPI_LONG, window.win));
  if (!dynamic) {
    EXPECT(MPI_ERR_DISP, MPI_Put(&value, 1, MPI_LONG, 0, -1, 1, MPI_LONG, window.win));
    EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_LONG, 0, SLOTS, 1, MPI_LONG, window.win));
    EXPECT(MPI_ERR_RMA_RANGE, MPI_Get(&value, 1, MPI_LONG, 0, (MPI_Aint)1 << 61, 1, MPI_LONG, window.win));
    EXPECT(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(window.win, &value, sizeof value));
  } else {
    /* A target that is another rank refuses, and the next synchronization tells. */
    if (rank == 0) {
      EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_LONG, 0, 64, 1, MPI_LONG, window.win));
    } else {
      long result = 0;
      MPI_Put(&value, 1, MPI_LONG, 0, 64, 1, MPI_LONG, window.win);
      EXPECT(MPI_ERR_RMA_RANGE, MPI_Win_flush(0, window.win));
      MPI_Get(&value, 1, MPI_LONG, 0, 64, 1, MPI_LONG, window.win);
      EXPECT(MPI_ERR_RMA_RANGE, MPI_Win_flush(0, window.win));
      MPI_Fetch_and_op(&value, &result, MPI_LONG, 0, 64, MPI_SUM, window.win);
      EXPECT(MPI_ERR_RMA_RANGE, MPI_Win_flush(0, window.win));
    }
    EXPECT(MPI_ERR_RMA_ATTACH, MPI_Win_attach(window.win, window.base + 1, 8));
    EXPECT(MPI_ERR_RMA_ATTACH, MPI_Win_detach(window.win, window.base + 1));
  }
  EXPECT(MPI_ERR_TRUNCATE, MPI_Put(&value, 1, MPI_LONG, 0, start, 1, MPI_INT, window.win));
  EXPECT(MPI_ERR_OP, MPI_Accumulate(&value, 1, MPI_LONG, 0, start, 1, MPI_LONG, MPI_NO_OP, window.win));
  EXPECT(MPI_ERR_OP, MPI_Accumulate(&value, 1, MPI_DOUBLE, 0, start, 1, MPI_DOUBLE, MPI_BAND, window.win));
  EXPECT(MPI_ERR_TYPE, MPI_Compare_and_swap(&value, &value, &value, MPI_DOUBLE, 0, start, window.win));
  EXPECT(MPI_ERR_COUNT, MPI_Put(&value, -1, MPI_LONG, 0, start, 1, MPI_LONG, window.win));
  EXPECT(MPI_ERR_BUFFER, MPI_Put(NULL, 1, MPI_LONG, 0, start, 1, MPI_LONG, window.win));
  /* And the window still works. */
  long one = 1;
  MPI_Accumulate(&one, 1, MPI_LONG, 0, start, 1, MPI_LONG, MPI_SUM, window.win);
  MPI_Win_unlock(0, window.win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(window.base[0] == size, "slot 0 is %ld", window.base[0]);
  MPI_Group_free(&world);
  unmake(&window);
}

/* Making a window with wrong arguments at one rank fails at all, through the communicator's handler. */
static void bad_makings(void) {
  MPI_Win win = MPI_WIN_NULL;
  long memory, *base;
  const int last = rank == size - 1;
  int error_class;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Error_class(MPI_Win_create(&memory, 8, last ? 0 : 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win),
                  &error_class);
  CHECK(error_class == MPI_ERR_DISP, "disp_unit = 0: class %d", error_class);
  MPI_Error_class(MPI_Win_allocate(last ? -8 : 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win),
                  &error_class);
  CHECK(error_class == MPI_ERR_SIZE, "size = -8: class %d", error_class);
  const MPI_Aint huge = last ? (MPI_Aint)1 << 50 : 8;
  MPI_Error_class(MPI_Win_allocate_shared(huge, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), &error_class);
  CHECK(error_class == MPI_ERR_NO_MEM, "size = 2^50: class %d", error_class);
  CHECK(win == MPI_WIN_NULL, "a window was made");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "closed") == 0) close_descriptors();
  MPI_Init(&argc, &argv);
  if (argc > 1 && strcmp(argv[1], "closed-late") == 0) close_descriptors();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int bad = argc > 1 && strcmp(argv[1], "errors") == 0;
  mixed = argc > 1 && strcmp(argv[1], "mixed") == 0;
  const int symmetric_heaps = argc > 1 && (strcmp(argv[1], "global") == 0 || strcmp(argv[1], "private") == 0);
  if (symmetric_heaps) alloc_mem();
  if (symmetric_heaps) same_address();
  const int nodes = argc > 1 && strcmp(argv[1], "nodes") == 0;
  for (int flavor = 0; flavor < (nodes ? 3 : 4); ++flavor) {
    if (bad) {
      errors(flavor);
      continue;
    }
    Window window = make(flavor, MPI_INFO_NULL);
    fences(&window);
    post_start_complete_wait(&window);
    locks(&window);
    accumulates(&window);
    unmake(&window);
    if (flavor < 2) large(flavor);
    if (flavor < 2) together(flavor);
  }
  if (bad) bad_makings();
  if (!bad) {
    far();
    if (!nodes) shared();
  }
  if (rank == 0) printf("windows: right\n");
  MPI_Finalize();
  return 0;
}

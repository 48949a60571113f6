/* Puts and gets of windows whose ranks are on several nodes: of one int and of a megabyte, with gaps, many at
   a time, with requests, in every kind of epoch. "dies N": rank N dies while all others put to it. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { INTS = 1 << 18, GAPS = 300 };
static int rank, size;
static int *base, *buffer;
static MPI_Win win;

/* What the window of `owner` holds at `i` after `writer` has written there. */
static int value(int writer, int owner, int i) {
  return writer * 1000003 + owner * 7919 + i;
}

static void fill(int owner, int begin, int count) {
  for (int i = 0; i < count; ++i) buffer[i] = value(rank, owner, begin + i);
}

/* Parts of the window, each written by one rank. */
static void check_got(int writer, int owner, int begin, int count) {
  for (int i = 0; i < count; ++i)
    CHECK(buffer[i] == value(writer, owner, begin + i), "of rank %d, at %d: %d, expected %d", owner,
          begin + i, buffer[i], value(writer, owner, begin + i));
}

/* From one int to all of this rank's share of the right neighbour's window. */
static void dense(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int count = 1; count <= INTS; count *= 8) {
    MPI_Request request;
    fill(right, 0, count);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    MPI_Put(buffer, count, MPI_INT, right, 0, count, MPI_INT, win);
    MPI_Win_flush(right, win);
    memset(buffer, 0, sizeof(int) * (size_t)count);
    MPI_Get(buffer, count, MPI_INT, right, 0, count, MPI_INT, win);
    MPI_Win_unlock(right, win);
    check_got(rank, right, 0, count);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    for (int i = 0; i < count; ++i) CHECK(base[i] == value(left, rank, i), "at %d: %d", i, base[i]);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    fill(right, 1, count);
    MPI_Rput(buffer, count, MPI_INT, right, 0, count, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    memset(buffer, 0, sizeof(int) * (size_t)count); /* it was read before */
    MPI_Win_flush(right, win);
    MPI_Rget(buffer, count, MPI_INT, right, 0, count, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_got(rank, right, 1, count);
    MPI_Win_unlock(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* Blocks of three ints with gaps to pairs with gaps, and back; what lies in the gaps stays. */
static void gaps(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Datatype here, there;
  MPI_Type_vector(2 * GAPS, 3, 5, MPI_INT, &here);
  MPI_Type_vector(3 * GAPS, 2, 7, MPI_INT, &there);
  MPI_Type_commit(&here);
  MPI_Type_commit(&there);
  for (int i = 0; i < 30 * GAPS; ++i) base[i] = -1;
  for (int i = 0; i < 10 * GAPS; ++i) buffer[i] = value(rank, right, i);
  MPI_Win_fence(0, win);
  MPI_Put(buffer, 1, here, right, 0, 1, there, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 21 * GAPS; ++i) {
    const int at = i / 7 * 2 + i % 7; /* in the packed form, unless it is in a gap */
    const int wanted = i % 7 < 2 ? value(left, rank, at / 3 * 5 + at % 3) : -1;
    CHECK(base[i] == wanted, "at %d: %d, expected %d", i, base[i], wanted);
  }
  memset(buffer, 0, sizeof(int) * 10 * GAPS);
  MPI_Win_fence(0, win);
  MPI_Get(buffer, 1, here, right, 0, 1, there, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 10 * GAPS; ++i)
    CHECK(buffer[i] == (i % 5 < 3 ? value(rank, right, i) : 0), "back at %d: %d", i, buffer[i]);
  MPI_Type_free(&here);
  MPI_Type_free(&there);
}

/* Many puts and sums at a time, in exposure epochs; a third of each to every rank. */
static void many(void) {
  enum { EACH = 600 };
  MPI_Group all;
  const int one = 1;
  MPI_Win_get_group(win, &all);
  memset(base, 0, sizeof(int) * (size_t)(EACH * size + 1));
  MPI_Win_post(all, 0, win);
  MPI_Win_start(all, 0, win);
  for (int target = 0; target < size; ++target) {
    for (int i = 0; i < EACH; ++i) {
      buffer[target * EACH + i] = value(rank, target, i);
      MPI_Put(&buffer[target * EACH + i], 1, MPI_INT, target, rank * EACH + i, 1, MPI_INT, win);
      if (i % 3 == 0) MPI_Accumulate(&one, 1, MPI_INT, target, EACH * size, 1, MPI_INT, MPI_SUM, win);
    }
  }
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  for (int writer = 0; writer < size; ++writer) {
    for (int i = 0; i < EACH; ++i)
      CHECK(base[writer * EACH + i] == value(writer, rank, i), "of rank %d at %d", writer, i);
  }
  CHECK(base[EACH * size] == size * EACH / 3, "%d sums", base[EACH * size]);
  MPI_Group_free(&all);
}

static void dies(int mortal) {
  MPI_Win_lock_all(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == mortal) {
    usleep(100000);
    raise(SIGKILL);
  }
  for (;;) {
    MPI_Put(buffer, 1000, MPI_INT, mortal, 0, 1000, MPI_INT, win);
    MPI_Win_flush(mortal, win);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  buffer = calloc(INTS + 1, sizeof *buffer);
  for (int flavor = 0; flavor < 2; ++flavor) {
    static int* own;
    if (flavor == 0)
      MPI_Win_allocate(INTS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    if (flavor == 1)
      MPI_Win_create(base = own = calloc(INTS, sizeof(int)), INTS * sizeof(int), sizeof(int), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &win);
    if (argc > 2) dies(atoi(argv[2]));
    MPI_Barrier(MPI_COMM_WORLD);
    dense();
    gaps();
    many();
    MPI_Win_free(&win);
    free(own);
  }
  if (rank == 0) printf("window copies: right\n");
  MPI_Finalize();
  return 0;
}

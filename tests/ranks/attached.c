/* Memory of a dynamic window that is attached piece by piece: an access may span pieces that adjoin, and is
 * refused where it also needs a byte that is not attached. Every rank works on the memory of the next one. */
#include <stdlib.h>

#include "check.h"

enum { kPieces = 7, kLongs = 70, kStride = 4 };

static int rank, size;

static int class_of(int code) {
  int error_class;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/* The first long of a piece; pieces differ in length. */
static int begin_of(int piece) {
  return piece * (piece + 5) / 2;
}

static void attach(MPI_Win win, long* memory, int piece) {
  const MPI_Aint bytes = (begin_of(piece + 1) - begin_of(piece)) * (MPI_Aint)sizeof(long);
  CHECK(MPI_Win_attach(win, memory + begin_of(piece), bytes) == MPI_SUCCESS, "piece %d is refused", piece);
}

/* The class of the error of reading all at the target, told at the latest by the flush. */
static int read_all(MPI_Win win, int target, MPI_Aint place, long* into, int longs) {
  const int code = MPI_Get(into, longs, MPI_LONG, target, place, longs, MPI_LONG, win);
  const int flushed = MPI_Win_flush(target, win);
  return class_of(code != MPI_SUCCESS ? code : flushed);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int target = (rank + 1) % size, origin = (rank + size - 1) % size;
  const int longs = begin_of(kPieces);
  long* memory = calloc(kLongs, sizeof(long));
  MPI_Win win;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  /* In no order, and with an empty one between them. */
  for (int turn = 0; turn < kPieces; ++turn) attach(win, memory, turn * 3 % kPieces);
  MPI_Win_attach(win, memory + begin_of(2), 0);
  MPI_Aint own, place;
  MPI_Get_address(memory, &own);
  MPI_Sendrecv(&own, 1, MPI_AINT, origin, 0, &place, 1, MPI_AINT, target, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);

  long sent[kLongs], got[kLongs];
  for (int i = 0; i < longs; ++i) sent[i] = rank * 1000 + i;
  MPI_Win_lock_all(0, win);
  CHECK(MPI_Put(sent, longs, MPI_LONG, target, place, longs, MPI_LONG, win) == MPI_SUCCESS, "put");
  CHECK(MPI_Win_flush(target, win) == MPI_SUCCESS, "put: refused at the target");
  MPI_Datatype strided; /* every fourth: its runs lie in many pieces */
  MPI_Type_vector(longs / kStride, 1, kStride, MPI_LONG, &strided);
  MPI_Type_commit(&strided);
  CHECK(MPI_Accumulate(sent, 1, strided, target, place, 1, strided, MPI_SUM, win) == MPI_SUCCESS,
        "accumulate");
  CHECK(MPI_Win_flush(target, win) == MPI_SUCCESS, "accumulate: refused at the target");
  MPI_Type_free(&strided);
  CHECK(read_all(win, target, place, got, longs) == MPI_SUCCESS, "get");
  for (int i = 0; i < longs; ++i) {
    const long expected = sent[i] * (i % kStride == 0 && i < longs / kStride * kStride ? 2 : 1);
    CHECK(got[i] == expected, "element %d is %ld, expected %ld", i, got[i], expected);
  }
  const MPI_Aint behind = place + begin_of(2) * (MPI_Aint)sizeof(long);
  CHECK(read_all(win, target, behind, got, longs - begin_of(2)) == MPI_SUCCESS,
        "from where an empty piece is");
  CHECK(read_all(win, target, place, got, longs + 1) == MPI_ERR_RMA_RANGE, "beyond the last piece");

  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_detach(win, memory + begin_of(4));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(read_all(win, target, place, got, begin_of(4)) == MPI_SUCCESS, "before what was detached");
  CHECK(read_all(win, target, place, got, longs) == MPI_ERR_RMA_RANGE, "over what was detached");
  MPI_Barrier(MPI_COMM_WORLD);
  attach(win, memory, 4);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(read_all(win, target, place, got, longs) == MPI_SUCCESS, "over what was attached again");
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  free(memory);
  if (rank == 0) printf("well\n");
  MPI_Finalize();
  return 0;
}

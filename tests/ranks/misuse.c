/* Misuse that only TASUKI_CHECK finds. Rank 0 and the last rank do it to each other (at one rank: to itself),
 * and the rank that gets the error prints its text; then a message around the ring must still arrive, for an
 * error leaves the library as it was. Arguments: the case, the number of errors that all ranks together
 * expect. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kInts = 1000 };

static int rank, size, other, errors;
static int data[kInts], more[kInts];

static int failed(int code) {
  if (code == MPI_SUCCESS) return 0;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  printf("rank %d: %s\n", rank, text);
  ++errors;
  return 1;
}

/* A receive that hears of the others' types. */
static void types(MPI_Datatype sent, MPI_Datatype received, int count) {
  MPI_Request request;
  MPI_Isend(data, count, sent, other, 5, MPI_COMM_WORLD, &request);
  failed(MPI_Recv(more, kInts / 2, received, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  failed(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void partitions(void) {
  MPI_Request requests[2];
  MPI_Psend_init(data, 2, 10, MPI_INT, other, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(more, 2, 10, MPI_FLOAT, other, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Startall(2, requests);
  MPI_Pready_range(0, 1, requests[0]);
  failed(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  failed(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void put(void) {
  MPI_Win window;
  int* memory;
  MPI_Win_allocate(kInts * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, window);
  failed(MPI_Put(data, 2, MPI_INT, other, 0, 1, MPI_DOUBLE, window));
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

static void overlap(void) {
  MPI_Request first, second = MPI_REQUEST_NULL;
  MPI_Irecv(data, 100, MPI_INT, other, 5, MPI_COMM_WORLD, &first);
  failed(MPI_Irecv(data + 99, 100, MPI_INT, other, 6, MPI_COMM_WORLD, &second));
  MPI_Send(more, 100, MPI_INT, other, 5, MPI_COMM_WORLD);
  failed(MPI_Wait(&first, MPI_STATUS_IGNORE));
}

static void changed(void) {
  MPI_Request request;
  MPI_Issend(data, kInts, MPI_INT, other, 5, MPI_COMM_WORLD, &request);
  data[kInts / 2] ^= 1;
  MPI_Recv(more, kInts, MPI_INT, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  failed(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void written(void) {
  MPI_Request request;
  MPI_Irecv(data, kInts, MPI_INT, other, 5, MPI_COMM_WORLD, &request);
  data[kInts / 2] ^= 1;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(more, kInts, MPI_INT, other, 5, MPI_COMM_WORLD);
  failed(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* All ranks: the last one changes what a collective sends. */
static void collective(void) {
  MPI_Request request;
  MPI_Iallreduce(data, more, kInts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  if (rank == size - 1) data[3] ^= 1;
  failed(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* All ranks: what a collective receives into is received into. */
static void into_collective(void) {
  MPI_Request request, second = MPI_REQUEST_NULL;
  MPI_Iallreduce(data, more, kInts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  failed(MPI_Irecv(more + kInts - 1, 1, MPI_INT, other, 6, MPI_COMM_WORLD, &second));
  failed(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void aliased(void) {
  failed(MPI_Allreduce(data, data + 10, 20, MPI_INT, MPI_SUM, MPI_COMM_SELF));
  const int counts[] = {20}, places[] = {0};
  failed(MPI_Alltoallv(data, counts, places, MPI_INT, data + 19, counts, places, MPI_INT, MPI_COMM_SELF));
  failed(MPI_Sendrecv(data, 2, MPI_INT, 0, 0, data + 1, 2, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
}

/* All ranks: each block lies upon the one before it. */
static void blocks(void) {
  int counts[8], places[8];
  for (int i = 0; i < 8; ++i) counts[i] = 2, places[i] = i;
  failed(MPI_Allgatherv(data, 2, MPI_INT, more, counts, places, MPI_INT, MPI_COMM_WORLD));
}

static void twice(void) {
  MPI_Request request, both[2];
  MPI_Irecv(more, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  both[0] = both[1] = request;
  failed(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
  MPI_Send(data, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
  failed(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* What is right, of all kinds: no error. */
static void right(void) {
  MPI_Request requests[4];
  MPI_Datatype column;
  MPI_Type_vector(10, 1, 10, MPI_INT, &column);
  MPI_Type_commit(&column);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2; ++i) MPI_Irecv(more + i, 1, column, other, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 2; ++i) MPI_Isend(data, 10, MPI_INT, other, i, MPI_COMM_WORLD, &requests[2 + i]);
    failed(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
  }
  MPI_Type_free(&column);
}

static void play(const char* what) {
  const int is_end = rank == 0 || rank == size - 1;
  if (strcmp(what, "collective") == 0) return collective();
  if (strcmp(what, "into_collective") == 0) return into_collective();
  if (strcmp(what, "put") == 0) return put();
  if (strcmp(what, "blocks") == 0) return blocks();
  if (strcmp(what, "written") == 0 && !is_end) MPI_Barrier(MPI_COMM_WORLD);
  if (!is_end) return;
  if (strcmp(what, "types") == 0) types(MPI_INT, MPI_FLOAT, 10);
  if (strcmp(what, "long_types") == 0) types(MPI_INT, MPI_FLOAT, kInts / 2);
  if (strcmp(what, "bytes") == 0) types(MPI_DOUBLE, MPI_BYTE, 10);
  if (strcmp(what, "partitions") == 0) partitions();
  if (strcmp(what, "overlap") == 0) overlap();
  if (strcmp(what, "changed") == 0) changed();
  if (strcmp(what, "written") == 0) written();
  if (strcmp(what, "aliased") == 0) aliased();
  if (strcmp(what, "twice") == 0) twice();
  if (strcmp(what, "right") == 0) right();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  other = size - 1 - rank;
  play(argv[1]);
  const int expected = atoi(argv[2]);
  int token = rank, in = -1, all = 0;
  MPI_Sendrecv(&token, 1, MPI_INT, (rank + 1) % size, 9, &in, 1, MPI_INT, (rank + size - 1) % size, 9,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in == (rank + size - 1) % size, "got %d", in);
  MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(all == expected, "%d errors, expected %d", all, expected);
  if (rank == 0) printf("errors: %d\n", all);
  MPI_Finalize();
  return 0;
}

/* features FOLDER [childless]: a little of each part of MPI, each checked: messages, collectives, windows, a
 * file, threads, and a child that is spawned. It is for systems that lack something: rank 0 prints "right" in
 * the end. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../ranks/check.h"

#define SMALL 100
#define BIG (1 << 18) /* of int */
#define TURNS 20

static int rank, ranks;
static int *sent, *received;

static void fill(int* data, int count, int seed) {
  for (int i = 0; i < count; ++i) data[i] = seed * 1000003 + i;
}

static void check(const int* data, int count, int seed, const char* what) {
  for (int i = 0; i < count; ++i)
    CHECK(data[i] == seed * 1000003 + i, "%s: element %d of %d is wrong", what, i, count);
}

static void messages(void) {
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  const int counts[] = {1, SMALL, 10000, BIG};
  for (int i = 0; i < 4; ++i) {
    MPI_Request both[2];
    fill(sent, counts[i], rank + i);
    memset(received, 0, (size_t)counts[i] * sizeof(int));
    MPI_Irecv(received, counts[i], MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &both[0]);
    MPI_Isend(sent, counts[i], MPI_INT, next, i, MPI_COMM_WORLD, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    check(received, counts[i], before + i, "a message");
  }
  MPI_Datatype strided; /* every other one */
  MPI_Type_vector(BIG / 4, 1, 2, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  fill(sent, BIG, rank);
  MPI_Sendrecv(sent, 1, strided, next, 9, received, BIG / 4, MPI_INT, before, 9, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < BIG / 4; ++i) CHECK(received[i] == before * 1000003 + 2 * i, "strided: element %d", i);
  MPI_Type_free(&strided);
}

static void collectives(void) {
  const int counts[] = {1, SMALL, BIG / 8};
  for (int i = 0; i < 3; ++i) {
    const int count = counts[i];
    if (rank == ranks - 1) fill(received, count, 7);
    MPI_Bcast(received, count, MPI_INT, ranks - 1, MPI_COMM_WORLD);
    check(received, count, 7, "MPI_Bcast");
    for (int j = 0; j < count; ++j) sent[j] = rank + j;
    MPI_Allreduce(sent, received, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int j = 0; j < count; ++j)
      CHECK(received[j] == ranks * (ranks - 1) / 2 + ranks * j, "MPI_Allreduce: element %d", j);
    for (int to = 0; to < ranks; ++to) fill(sent + to * count, count, rank * ranks + to);
    MPI_Alltoall(sent, count, MPI_INT, received, count, MPI_INT, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; ++from)
      check(received + from * count, count, from * ranks + rank, "MPI_Alltoall");
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void windows(void) {
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  MPI_Win window;
  int* memory;
  MPI_Win_allocate(BIG * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  fill(sent, BIG, rank);
  MPI_Win_fence(0, window);
  MPI_Put(sent, BIG, MPI_INT, next, 0, BIG, MPI_INT, window);
  MPI_Win_fence(0, window);
  check(memory, BIG, before, "MPI_Put");
  MPI_Get(received, BIG, MPI_INT, next, 0, BIG, MPI_INT, window);
  MPI_Win_fence(0, window);
  check(received, BIG, rank, "MPI_Get");
  memset(memory, 0, BIG * sizeof(int));
  MPI_Win_fence(0, window);
  for (int i = 0; i < BIG; ++i) sent[i] = i;
  for (int turn = 0; turn < TURNS; ++turn) { /* words one by one, and many at once */
    const int one = 1;
    int was;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Fetch_and_op(&one, &was, MPI_INT, 0, BIG - 1, MPI_SUM, window);
    MPI_Accumulate(sent, turn < TURNS / 2 ? 2 : SMALL, MPI_INT, 0, 0, turn < TURNS / 2 ? 2 : SMALL, MPI_INT,
                   MPI_SUM, window);
    MPI_Win_unlock(0, window);
    CHECK(was >= 0 && was < ranks * TURNS, "MPI_Fetch_and_op found %d", was);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
  if (rank == 0) {
    CHECK(memory[BIG - 1] == ranks * TURNS, "MPI_Fetch_and_op: %d", memory[BIG - 1]);
    CHECK(memory[1] == ranks * TURNS && memory[50] == 50 * ranks * (TURNS / 2), "MPI_Accumulate");
  }
  MPI_Win_unlock(rank, window);
  MPI_Win_free(&window);

  MPI_Comm node;
  int *mine, *theirs, unit, place, size;
  MPI_Aint bytes;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &place);
  MPI_Comm_size(node, &size);
  MPI_Win_allocate_shared(SMALL * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &mine, &window);
  MPI_Win_fence(0, window);
  fill(mine, SMALL, place);
  MPI_Win_fence(0, window);
  MPI_Win_shared_query(window, (place + 1) % size, &bytes, &unit, &theirs);
  check(theirs, SMALL, (place + 1) % size, "MPI_Win_allocate_shared");
  MPI_Win_free(&window);
  MPI_Comm_free(&node);
}

static void files(const char* folder) {
  char name[4096];
  MPI_File file;
  const MPI_Offset begin = (MPI_Offset)rank * BIG * (int)sizeof(int);
  snprintf(name, sizeof name, "%s/file", folder);
  CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
            MPI_SUCCESS,
        "MPI_File_open %s", name);
  CHECK(MPI_File_preallocate(file, (MPI_Offset)ranks * BIG * (int)sizeof(int)) == MPI_SUCCESS,
        "MPI_File_preallocate");
  fill(sent, BIG, rank);
  MPI_File_write_at_all(file, begin, sent, BIG, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  MPI_Request request;
  memset(received, 0, BIG * sizeof(int));
  MPI_File_iread_at(file, (ranks - 1 - rank) * (MPI_Offset)BIG * (int)sizeof(int), received, BIG, MPI_INT,
                    &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check(received, BIG, ranks - 1 - rank, "MPI_File_iread_at");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Datatype every; /* interleaved, one int of each rank in turn */
  MPI_Type_create_resized(MPI_INT, 0, ranks * (MPI_Aint)sizeof(int), &every);
  MPI_Type_commit(&every);
  MPI_File_set_view(file, rank * (int)sizeof(int), MPI_INT, every, "native", MPI_INFO_NULL);
  MPI_File_iwrite_at_all(file, 0, sent, 10000, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  memset(received, 0, 10000 * sizeof(int));
  MPI_File_read_at_all(file, 0, received, 10000, MPI_INT, MPI_STATUS_IGNORE);
  check(received, 10000, rank, "MPI_File_read_at_all");
  MPI_Type_free(&every);
  MPI_File_close(&file);
}

static void take_turns(MPI_Comm mine, int turns) {
  int sum = 0;
  for (int turn = 0; turn < turns; ++turn) {
    int got = -1;
    MPI_Sendrecv(&turn, 1, MPI_INT, (rank + 1) % ranks, 0, &got, 1, MPI_INT, (rank + ranks - 1) % ranks, 0,
                 mine, MPI_STATUS_IGNORE);
    CHECK(got == turn, "a thread got %d in turn %d", got, turn);
  }
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, mine);
  CHECK(sum == ranks * (ranks - 1) / 2, "a thread's MPI_Allreduce: %d", sum);
}

static void* one_thread(void* communicator) {
  take_turns(*(MPI_Comm*)communicator, TURNS);
  return NULL;
}

static void threads(void) {
  MPI_Comm communicators[3];
  pthread_t running[2];
  for (int i = 0; i < 3; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &communicators[i]);
  take_turns(communicators[2], 20 * TURNS); /* alone: this thread is favoured, and then no longer */
  for (int i = 0; i < 2; ++i) pthread_create(&running[i], NULL, one_thread, &communicators[i]);
  one_thread(&communicators[2]);
  for (int i = 0; i < 2; ++i) pthread_join(running[i], NULL);
  for (int i = 0; i < 3; ++i) MPI_Comm_free(&communicators[i]);
}

static void child(char* program) {
  MPI_Comm between;
  char* no_arguments[] = {NULL};
  MPI_Comm_spawn(program, no_arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
  if (rank == 0) {
    fill(sent, BIG, 3);
    MPI_Send(sent, BIG, MPI_INT, 0, 0, between);
    MPI_Recv(received, BIG, MPI_INT, 0, 0, between, MPI_STATUS_IGNORE);
    check(received, BIG, 3, "a message by way of a child");
  }
  MPI_Comm_disconnect(&between);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Comm parent;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_get_parent(&parent);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  sent = malloc(BIG * sizeof(int));
  received = malloc(BIG * sizeof(int));
  if (parent != MPI_COMM_NULL) {
    MPI_Recv(received, BIG, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
    MPI_Send(received, BIG, MPI_INT, 0, 0, parent);
    MPI_Comm_disconnect(&parent);
  } else {
    messages();
    collectives();
    windows();
    files(argv[1]);
    threads();
    if (argc == 2) child(argv[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) puts("right");
  }
  free(sent);
  free(received);
  MPI_Finalize();
  return 0;
}

// Programs that hang, die or only look as if: what the doctor has to tell apart (test_doctor.py).
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, value;
static double seconds;

static void wait_for_neighbour(void) {
  MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // cycle
}

static void compute(double how_long) {
  const double end = MPI_Wtime() + how_long;
  volatile unsigned long sum = 0;
  while (MPI_Wtime() < end) {
    for (int i = 0; i < 100000; ++i) sum += (unsigned long)i;
    usleep(1000);
  }
}

// Every rank waits for the next one, for ever.
static void cycle(void) {
  wait_for_neighbour();
}

// The first two do; the others have something to do first.
static void half(void) {
  if (rank < 2) {
    MPI_Recv(&value, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    compute(seconds);
  }
}

// All wait for rank 0, which computes.
static void late(void) {
  if (rank == 0) compute(seconds);
  MPI_Barrier(MPI_COMM_WORLD);
}

// One message goes round; each rank keeps it for a while.
static void slow_ring(void) {
  for (int turn = 0; turn < 2 * size; ++turn) {
    if (turn % size != rank) continue;
    if (turn > 0)
      MPI_Recv(&value, 1, MPI_INT, (rank + size - 1) % size, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep((useconds_t)(seconds * 1e6));
    if (turn + 1 < 2 * size) MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, turn + 1, MPI_COMM_WORLD);
  }
}

// The same over a network whose messages take their time: all ranks are in MPI all the time.
static void ring(void) {
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  MPI_Recv(&value, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank != 0) MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
}

static void poll_for_ever(void) {
  MPI_Request request;
  MPI_Irecv(&value, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &request);
  for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

// No process ever connects.
static void accept(void) {
  char port[MPI_MAX_PORT_NAME];
  MPI_Comm other;
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
}

static void stopped(void) {
  if (rank == 1) raise(SIGSTOP);
  MPI_Barrier(MPI_COMM_WORLD);
}

// It dies where MPI calls it.
static void dying_sum(void* in, void* out, int* count, MPI_Datatype* type) {
  (void)in, (void)out, (void)count, (void)type;
  raise(SIGSEGV);
}

static void die_inside(void) {
  MPI_Op op;
  MPI_Op_create(dying_sum, 1, &op);
  int sum;
  MPI_Reduce(&value, &sum, 1, MPI_INT, op, 0, MPI_COMM_WORLD);  // inside
  MPI_Barrier(MPI_COMM_WORLD);
}

static void die_outside(void) {
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);  // outside
  if (rank == 1) raise(SIGSEGV);
  wait_for_neighbour();
}

static void leave(void) {
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);  // left
  if (rank == 1) exit(3);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void give_up(void) {
  if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 5);  // abort
  MPI_Barrier(MPI_COMM_WORLD);
}

// What is spawned hangs; the ranks that spawned it wait for its message.
static void spawn(const char* program) {
  MPI_Comm children;
  char* words[] = {"child", NULL};
  MPI_Comm_spawn(program, words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 0, 1, children, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  seconds = argc > 2 ? atof(argv[2]) : 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const struct {
    const char* name;
    void (*function)(void);
  } known[] = {
      {"cycle", cycle},     {"child", cycle},       {"half", half},           {"late", late},
      {"slow", slow_ring},  {"ring", ring},         {"poll", poll_for_ever},  {"accept", accept},
      {"stopped", stopped}, {"inside", die_inside}, {"outside", die_outside}, {"leave", leave},
      {"abort", give_up},
  };
  MPI_Barrier(MPI_COMM_WORLD);
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    if (strcmp(what, known[i].name) == 0) known[i].function();
  }
  if (strcmp(what, "spawn") == 0) spawn(argv[0]);
  MPI_Finalize();
  return 0;
}

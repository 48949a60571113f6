/* Messages of many sizes between all ranks, for ever: what faults and strangers are amid.

   Rank 0 says "running" when all have begun; what arrives is looked at. traffic large: messages of 64 MiB
   alone, to the rank half the job away. traffic quiet SECONDS: nothing for so long, then as without an
   argument. traffic for SECONDS: ends then.

   traffic small SECONDS WHAT: 8 bytes at a time between the first rank and the last, and the job ends; rank 0
   says "ended". WHAT is "barrier", "send", "put" or "atomic": nothing for so long, then this once.
   "computes", "sends", "tests", "leaves": nothing for so long, then a message to the last rank, which waits
   for it; and rank 0 computes, goes on sending, tests now and then, or leaves (it has a session alone).
   "leaves-busy": the last rank computes before it waits.
   "allreduce", "pingpong": again and again for so long. "computing", "stopped": the last rank computes, or is
   stopped, for so long while the first waits for it. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kLargest = 64 << 20 };

static int rank, ranks;
static char *out, *in;

static void exchange(int bytes, int distance) {
  const int to = (rank + distance) % ranks;
  const int from = (rank + ranks - distance) % ranks;
  in[0] = in[bytes - 1] = -1;
  MPI_Sendrecv(out, bytes, MPI_CHAR, to, 0, in, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (in[0] != from || in[bytes - 1] != from) MPI_Abort(MPI_COMM_WORLD, 4);
}

static void compute(double seconds) {
  for (const double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) usleep(1000);
}

/* Rank 0 decides by its clock which turn is the last. */
static void again_and_again(const char* what, double seconds) {
  const double end = MPI_Wtime() + seconds;
  const int last = ranks - 1;
  int turn[2] = {0, 0}, come[2] = {0, 0}; /* its number, and whether it is the last */
  while (!turn[1]) {
    ++turn[0];
    turn[1] = rank == 0 && MPI_Wtime() > end;
    if (strcmp(what, "allreduce") == 0) {
      MPI_Allreduce(turn, come, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      if (come[0] != turn[0] * ranks) MPI_Abort(MPI_COMM_WORLD, 5);
    } else if (rank == 0) {
      MPI_Send(turn, 2, MPI_INT, last, 0, MPI_COMM_WORLD);
      MPI_Recv(come, 2, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (come[0] != turn[0]) MPI_Abort(MPI_COMM_WORLD, 6);
    } else if (rank == last) {
      MPI_Recv(come, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (come[0] != turn[0]) MPI_Abort(MPI_COMM_WORLD, 6);
      MPI_Send(come, 2, MPI_INT, 0, 0, MPI_COMM_WORLD);
    } else {
      return;
    }
    turn[1] = come[1];
  }
}

/* A window of the last rank's is written to by the first. */
static void write_remotely(const char* what, double seconds) {
  long long one = 1, before = 0, *memory;
  const int last = ranks - 1;
  MPI_Win window;
  MPI_Win_allocate(sizeof one, sizeof one, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  *memory = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  compute(seconds);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, last, 0, window);
    if (strcmp(what, "put") == 0)
      MPI_Put(&one, 1, MPI_LONG_LONG, last, 0, 1, MPI_LONG_LONG, window);
    else
      MPI_Fetch_and_op(&one, &before, MPI_LONG_LONG, last, 0, MPI_SUM, window);
    MPI_Win_unlock(last, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == last && *memory != 1) MPI_Abort(MPI_COMM_WORLD, 7);
  MPI_Win_free(&window);
}

/* A message of rank 0, which does not wait for anybody then. */
static void send_and_go_on(const char* what, double seconds, MPI_Comm comm) {
  enum { kSends = 12, kTestsMax = 20 };
  const double pause = 1.2; /* seconds */
  const int last = ranks - 1, sends = strcmp(what, "sends") == 0 ? kSends : 1;
  int number = 0, answered = strcmp(what, "tests") != 0;
  MPI_Request answer = MPI_REQUEST_NULL;
  compute(seconds);
  if (rank == 0) {
    if (!answered) MPI_Irecv(&number, 1, MPI_INT, last, 0, comm, &answer);
    for (int turn = 0; turn < sends; ++turn) {
      if (turn > 0) compute(pause);
      MPI_Send(&turn, 1, MPI_INT, last, 0, comm);
    }
    if (strcmp(what, "computes") == 0) compute(2 * seconds);
    for (int test = 0; test < kTestsMax && !answered; ++test) {
      compute(pause);
      MPI_Test(&answer, &answered, MPI_STATUS_IGNORE);
    }
    if (!answered) MPI_Abort(MPI_COMM_WORLD, 8);
  } else if (rank == last) {
    if (strcmp(what, "leaves-busy") == 0) compute(2 * seconds);
    for (int turn = 0; turn < sends; ++turn) {
      MPI_Recv(&number, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
      if (number != turn) MPI_Abort(MPI_COMM_WORLD, 9);
    }
    if (!answered) MPI_Send(&number, 1, MPI_INT, 0, 0, comm);
  }
}

static void say_running(MPI_Comm comm) {
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  MPI_Barrier(comm);
  if (rank == 0) puts("running");
  fflush(stdout);
}

/* A session has no barrier at its end. */
static void leave_early(const char* what, double seconds) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "traffic", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  say_running(comm);
  send_and_go_on(what, seconds, comm);
  MPI_Session_finalize(&session);
  if (rank == 0) puts("ended");
}

static void be_small(const char* what, double seconds) {
  const int last = ranks - 1;
  const int is_quiet = strcmp(what, "barrier") == 0 || strcmp(what, "send") == 0;
  int number = 7;
  if (strcmp(what, "allreduce") == 0 || strcmp(what, "pingpong") == 0) again_and_again(what, seconds);
  if (strcmp(what, "put") == 0 || strcmp(what, "atomic") == 0) write_remotely(what, seconds);
  if (is_quiet || (strcmp(what, "computing") == 0 && rank == last)) compute(seconds);
  if (strcmp(what, "stopped") == 0 && rank == last) raise(SIGSTOP);
  if (strcmp(what, "send") == 0) {
    if (rank == 0) MPI_Send(&number, 1, MPI_INT, last, 0, MPI_COMM_WORLD);
    if (rank == last) MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    if (strcmp(what, "computes") == 0 || strcmp(what, "sends") == 0 || strcmp(what, "tests") == 0)
      send_and_go_on(what, seconds, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  if (rank == 0) puts("ended");
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  if (argc == 4 && strncmp(argv[3], "leaves", 6) == 0) {
    leave_early(argv[3], atof(argv[2]));
    return 0;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double end = strcmp(how, "for") == 0 ? MPI_Wtime() + atof(argv[2]) : 1e300;
  out = malloc(kLargest);
  in = malloc(kLargest);
  memset(out, rank, kLargest);
  say_running(MPI_COMM_WORLD);
  if (strcmp(how, "small") == 0) {
    be_small(argv[3], atof(argv[2]));
    return 0;
  }
  if (strcmp(how, "quiet") == 0) sleep((unsigned)atoi(argv[2]));
  int sums[2] = {0, 0};
  for (int turn = 0; sums[1] == 0; ++turn) {
    if (strcmp(how, "large") == 0) {
      exchange(kLargest, ranks / 2);
      continue;
    }
    for (int bytes = 8; bytes <= 4 << 20; bytes *= 8) {
      for (int distance = 1; distance < ranks; ++distance) exchange(bytes, distance);
    }
    const int own[2] = {turn, rank == 0 && MPI_Wtime() > end};
    MPI_Allreduce(own, sums, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sums[0] != turn * ranks) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Finalize();
  return 0;
}

/* A program whose calls are known, for test_trace.py. argv[1]:

   calls      a ring of messages in every form, collectives, a window: what the test expects of the trace
   silent     messages, and no MPI_Finalize
   die        messages for half a second; then the last rank kills itself
   threads    four threads send to themselves at once (MPI_THREAD_MULTIPLE)
   ways       what the library tells: messages of private memory, of memory of MPI_Alloc_mem and of a datatype
   with holes from rank 0 to rank 1; a reduction; and short messages that wait for their receives bulk argv[2]
   exchanges of 8 bytes between neighbours */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mpi.h>

enum { kThreads = 4, kRounds = 500, kMuch = 1 << 20, kWaiting = 20 };

static int rank, size;

static void ring(MPI_Comm comm, int bytes) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  char* out = calloc(2, (size_t)bytes);
  char* in = out + bytes;
  MPI_Request requests[2];
  MPI_Irecv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, 7, comm, &requests[0]);
  MPI_Isend(out, bytes / 2, MPI_BYTE, next, 7, comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Sendrecv(out, 3, MPI_INT, next, 8, in, 3, MPI_INT, before, 8, comm, MPI_STATUS_IGNORE);
  MPI_Send_init(out, 5, MPI_DOUBLE, next, 9, comm, &requests[0]);
  MPI_Recv_init(in, 5, MPI_DOUBLE, before, 9, comm, &requests[1]);
  for (int round = 0; round < 2; ++round) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  free(out);
}

static void collectives(MPI_Comm comm) {
  int one = 1, sum = 0;
  int* all = calloc((size_t)size, sizeof *all);
  MPI_Bcast(&one, 1, MPI_INT, size - 1, comm);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, comm);
  MPI_Gather(&one, 1, MPI_INT, all, 1, MPI_INT, 0, comm);
  MPI_Barrier(comm);
  free(all);
}

static void window(void) {
  MPI_Win win;
  long long cell = 0, value = 1;
  MPI_Win_create(&cell, sizeof cell, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Put(&value, 1, MPI_LONG_LONG, (rank + 1) % size, 0, 1, MPI_LONG_LONG, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

static void calls(void) {
  MPI_Comm backwards;
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &backwards);
  MPI_Comm_set_name(backwards, "backwards");
  MPI_Pcontrol(100, "ring");
  ring(MPI_COMM_WORLD, 1000);
  MPI_Pcontrol(100, "");
  collectives(backwards);
  MPI_Pcontrol(0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pcontrol(1);
  window();
  int flag = 0;
  for (int i = 0; i < 100; ++i) MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  MPI_Comm_free(&backwards);
}

static void exchange(int rounds) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  double out = 1, in = 0;
  for (int round = 0; round < rounds; ++round)
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, next, 0, &in, 1, MPI_DOUBLE, before, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void* talk(void* number) {
  const int tag = *(int*)number;
  int out = tag, in = 0;
  for (int round = 0; round < kRounds; ++round) {
    MPI_Request request;
    MPI_Isend(&out, 1, MPI_INT, rank, tag, MPI_COMM_WORLD, &request);
    MPI_Recv(&in, 1, MPI_INT, rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return NULL;
}

static void threads(void) {
  pthread_t started[kThreads];
  int numbers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    pthread_create(&started[i], NULL, talk, &numbers[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(started[i], NULL);
}

static void pass(void* buffer, int count, MPI_Datatype type) {
  MPI_Request request;
  if (rank == 0) MPI_Send(buffer, count, type, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Irecv(buffer, count, type, 0, 0, MPI_COMM_WORLD, &request);
  if (rank == 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void ways(void) {
  double *shared, numbers[64] = {0}, sums[64];
  void* own = mmap(NULL, kMuch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MPI_Datatype spread;
  MPI_Alloc_mem(kMuch, MPI_INFO_NULL, &shared);
  MPI_Type_vector(kMuch / 16, 1, 2, MPI_DOUBLE, &spread);
  MPI_Type_commit(&spread);
  pass(own, kMuch, MPI_CHAR);
  pass(shared, kMuch, MPI_CHAR);
  pass(shared, 1, spread);
  MPI_Allreduce(numbers, sums, 64, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int tag = 0; rank == 0 && tag < kWaiting; ++tag)
    MPI_Send(numbers, 1, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD);
  for (int tag = kWaiting; rank == 1 && tag-- > 0;)
    MPI_Recv(numbers, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Type_free(&spread);
  MPI_Free_mem(shared);
  munmap(own, kMuch);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "calls";
  int provided = 0;
  MPI_Init_thread(&argc, &argv, strcmp(what, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(what, "calls") == 0) calls();
  if (strcmp(what, "threads") == 0) threads();
  if (strcmp(what, "ways") == 0) ways();
  if (strcmp(what, "bulk") == 0) exchange(atoi(argv[2]));
  if (strcmp(what, "silent") == 0) {
    exchange(100);
    exit(0);
  }
  if (strcmp(what, "die") == 0) {
    const double begin = MPI_Wtime();
    while (MPI_Wtime() - begin < 0.5) exchange(1);
    if (rank == size - 1) kill(getpid(), SIGKILL);
    for (;;) exchange(1);
  }
  MPI_Finalize();
  return 0;
}

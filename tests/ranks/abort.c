/* All ranks end the job at the same moment, in the way that the argument names. "workers" have a spawned
   world do it, while the ranks that spawned it wait. */
#include <mpi.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static int rank;
static int data[16];

static void end(void) {
  MPI_Abort(MPI_COMM_WORLD, 40 + rank);
}

static void fatal(void) {
  MPI_Send(data, 1, MPI_INT, -5, 0, MPI_COMM_WORLD);
}

static void* in_thread(void* none) {
  end();
  return none;
}

static void thread(void) {
  pthread_t other;
  pthread_create(&other, NULL, in_thread, NULL);
  MPI_Recv(data, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void combine(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)in, (void)inout, (void)length, (void)type;
  end();
}

static void operation(void) {
  MPI_Op op;
  int sum;
  MPI_Op_create(combine, 1, &op);
  MPI_Allreduce(data, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
  MPI_Reduce_local(data, &sum, 1, MPI_INT, op);
}

static void handle(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  end();
}

static void handler(void) {
  MPI_Errhandler own;
  MPI_Comm_create_errhandler(handle, &own);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
  fatal();
}

static int at_end(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  end();
  return MPI_SUCCESS;
}

static void finalize(void) {
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, data);
  MPI_Finalize();
}

static void one_waits(void) {
  if (rank != 0) MPI_Barrier(MPI_COMM_WORLD);
  end();
}

static const struct {
  const char* name;
  void (*act)(void);
} ways[] = {
    {"abort", end},       {"fatal", fatal},       {"thread", thread},   {"operation", operation},
    {"handler", handler}, {"finalize", finalize}, {"waits", one_waits},
};

int main(int argc, char** argv) {
  int level;
  MPI_Comm parent, workers;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  const char* way = parent != MPI_COMM_NULL ? "abort" : argv[1];
  if (strcmp(way, "workers") == 0) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &workers,
                   MPI_ERRCODES_IGNORE);
    MPI_Recv(data, 1, MPI_INT, MPI_ANY_SOURCE, 1, workers, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; ++i) {
    if (strcmp(way, ways[i].name) == 0) ways[i].act();
  }
  sleep(100);
  return 0;
}

// What is left behind at MPI_Finalize, one kind for each name in the arguments; "nothing" makes all of them
// and gives all back. "parent" spawns a program that leaves a communicator.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, is_clean;
static int data[4096];
static int got[4096];
static int awaited[1];  // what stays open uses it to the end

static int on_self(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)extra;
  return MPI_Group_free(value);  // as libraries give back what they have: inside MPI_Finalize
}

static void combine(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)in, (void)inout, (void)length, (void)type;
}

static void handle(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
}

static void leave_comm(void) {
  MPI_Comm comm;
  for (int i = 0; i < 3; ++i) {
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comm);
    MPI_Comm_set_name(comm, "rows");
    if (is_clean) MPI_Comm_free(&comm);
  }
}

static void leave_group(void) {
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  if (is_clean) MPI_Group_free(&group);
}

static void leave_type(void) {
  MPI_Datatype type;
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Type_commit(&type);
  if (is_clean) MPI_Type_free(&type);
}

static void leave_op(void) {
  MPI_Op op;
  MPI_Op_create(combine, 1, &op);
  if (is_clean) MPI_Op_free(&op);
}

static void leave_info(void) {
  MPI_Info info;
  MPI_Info_create(&info);
  if (is_clean) MPI_Info_free(&info);
}

static void leave_errhandler(void) {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(handle, &handler);
  if (is_clean) MPI_Errhandler_free(&handler);
}

static void leave_window(void) {
  MPI_Win window;
  MPI_Win_create(data, sizeof data, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  if (is_clean) MPI_Win_free(&window);
}

static void leave_file(void) {
  MPI_File file;
  MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  if (is_clean) MPI_File_close(&file);
}

static void leave_keyval(void) {
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  if (is_clean) MPI_Comm_free_keyval(&key);
}

static void leave_send(void) {
  MPI_Request request[2];
  for (int i = 0; i < 2; ++i) MPI_Isend(data, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, request + i);
  for (int i = 0; i < 2; ++i) MPI_Recv(got, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (is_clean) MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

static void leave_receive(void) {
  MPI_Request request;
  MPI_Irecv(awaited, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &request);
  if (!is_clean) return;
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void leave_collective(void) {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  if (is_clean) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void leave_persistent(void) {
  MPI_Request request;
  MPI_Recv_init(data, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &request);
  if (is_clean) MPI_Request_free(&request);
}

static void leave_matched(void) {
  MPI_Message message;
  MPI_Send(data, 1, MPI_INT, rank, 4, MPI_COMM_WORLD);
  MPI_Mprobe(rank, 4, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  if (is_clean) MPI_Mrecv(got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

static void leave_message(void) {
  MPI_Send(data, 20, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD);
  if (is_clean) MPI_Recv(got, 20, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// A partitioned message that no MPI_Precv_init matches.
static void leave_offer(void) {
  MPI_Request request;
  MPI_Psend_init(data, 2, 10, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Request_free(&request);
  if (!is_clean) return;
  MPI_Precv_init(got, 2, 10, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Request_free(&request);
}

/// A message that goes with its communicator.
static void leave_lost(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "columns");
  MPI_Send(data, 20, MPI_INT, rank, 6, comm);
  MPI_Barrier(comm);
  if (is_clean) MPI_Recv(got, 20, MPI_INT, rank, 6, comm, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
}

/// Freed by a callback of MPI_Finalize: no leak.
static void leave_nothing_late(void) {
  static MPI_Group group;
  int key;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_self, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, &group);
  MPI_Comm_free_keyval(&key);
}

static const struct {
  const char* name;
  void (*leave)(void);
} kinds[] = {
    {"comm", leave_comm},
    {"group", leave_group},
    {"type", leave_type},
    {"op", leave_op},
    {"info", leave_info},
    {"errhandler", leave_errhandler},
    {"window", leave_window},
    {"file", leave_file},
    {"keyval", leave_keyval},
    {"send", leave_send},
    {"receive", leave_receive},
    {"collective", leave_collective},
    {"persistent", leave_persistent},
    {"matched", leave_matched},
    {"message", leave_message},
    {"offer", leave_offer},
    {"lost", leave_lost},
    {"late", leave_nothing_late},
};

static void spawn(const char* program) {
  MPI_Comm workers;
  char* arguments[] = {"comm", NULL};
  MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &workers, MPI_ERRCODES_IGNORE);
  MPI_Comm_disconnect(&workers);
}

int main(int argc, char** argv) {
  int thread_level;
  MPI_Info early;
  MPI_Info_create(&early);  // may be freed when MPI is over
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &thread_level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  for (int i = 1; i < argc; ++i) {
    is_clean = strcmp(argv[i], "nothing") == 0;
    if (strcmp(argv[i], "parent") == 0) spawn(argv[0]);
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; ++kind) {
      if (is_clean || strcmp(argv[i], kinds[kind].name) == 0) kinds[kind].leave();
    }
  }
  if (parent != MPI_COMM_NULL) MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  MPI_Info_free(&early);
  printf("done\n");
  return 0;
}

/* A user's function waits for a mutex of the user's that another thread holds, which calls MPI meanwhile: all
 * of it goes on, messages and nonblocking collectives too. If the library held its lock while it calls the
 * function, both threads would wait for ever.
 *
 * In every case a second thread makes the call that calls the function. The main thread holds the mutex,
 * waits until the function is there, exchanges messages that need progress, and lets go.
 *
 * Argument: the name of a file that the ranks may write, each with its rank appended. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { kInts = 50000, kTag = 77 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int inside, over;
static int rank;
static MPI_Comm own, others; /* of this rank alone: of the second thread, of the main one */
static MPI_Comm all;         /* of the second threads */
static const char* file_name;

static void meet(void) {
  atomic_store(&inside, 1);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}

static int copy(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)extra, (void)in, (void)out;
  meet();
  *flag = 0;
  return MPI_SUCCESS;
}
static int destroy(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  meet();
  return MPI_SUCCESS;
}
static int query(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_INT, 1);
  MPI_Status_set_cancelled(status, 0);
  meet();
  return MPI_SUCCESS;
}
static int end(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
static int end_slowly(void* state) {
  (void)state;
  meet();
  return MPI_SUCCESS;
}
static int query_at_once(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_INT, 1);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
static int cancel(void* state, int complete) {
  (void)state, (void)complete;
  meet();
  return MPI_SUCCESS;
}
static void handle(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  meet();
}
static void add(void* in, void* inout, int* length, MPI_Datatype* type) {
  int size;
  MPI_Type_size(*type, &size);
  CHECK(size == (int)sizeof(int), "the type has %d bytes", size);
  meet();
  for (int i = 0; i < *length; i++) ((int*)inout)[i] += ((int*)in)[i];
}
static void on_event(MPI_T_event_instance event, MPI_T_event_registration of, MPI_T_cb_safety safety,
                     void* data) {
  int64_t tag;
  (void)of, (void)safety, (void)data;
  CHECK(MPI_T_event_read(event, 1, &tag) == MPI_SUCCESS, "the event cannot be read");
  if (tag == kTag) meet();
}
static void on_free(MPI_T_event_registration of, MPI_T_cb_safety safety, void* data) {
  (void)of, (void)safety, (void)data;
  meet();
}
static int extent(MPI_Datatype type, MPI_Aint* bytes, void* extra) {
  (void)type, (void)extra;
  *bytes = sizeof(int);
  return MPI_SUCCESS;
}
static int convert(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position, void* extra) {
  (void)type, (void)extra;
  meet();
  memcpy(file, (int*)user + position, (size_t)count * sizeof(int));
  return MPI_SUCCESS;
}

static void copy_attribute(void) {
  int key, value;
  MPI_Comm made;
  MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(own, key, &value);
  MPI_Comm_dup(own, &made);
  MPI_Comm_free(&made);
  MPI_Comm_delete_attr(own, key);
  MPI_Comm_free_keyval(&key);
}
static void delete_attribute(void) {
  int key, value;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, destroy, &key, NULL);
  MPI_Comm_set_attr(own, key, &value);
  MPI_Comm_delete_attr(own, key);
  MPI_Comm_free_keyval(&key);
}
static void query_request(void) {
  MPI_Request request;
  MPI_Grequest_start(query, end, cancel, NULL, &request);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void free_request(void) {
  MPI_Request request;
  MPI_Grequest_start(query_at_once, end_slowly, cancel, NULL, &request);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void cancel_request(void) {
  MPI_Request request;
  MPI_Grequest_start(query_at_once, end, cancel, NULL, &request);
  MPI_Cancel(&request);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void handle_error(void) {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(own, handler);
  MPI_Errhandler_free(&handler);
  MPI_Send(NULL, 0, MPI_INT, 4711, 0, own);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_ARE_FATAL);
}
static void reduce_local(void) {
  MPI_Op op;
  int one = 1, two = 2;
  MPI_Op_create(add, 1, &op);
  MPI_Reduce_local(&one, &two, 1, MPI_INT, op);
  CHECK(two == 3, "1 + 2 gave %d", two);
  MPI_Op_free(&op);
}
static void reduce_among(int ints, int later) {
  static int mine[kInts], sum[kInts];
  MPI_Op op;
  MPI_Request request;
  int size;
  MPI_Comm_size(all, &size);
  MPI_Op_create(add, 1, &op);
  for (int i = 0; i < ints; i++) mine[i] = rank + i;
  if (later) {
    MPI_Iallreduce(mine, sum, ints, MPI_INT, op, all, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Allreduce(mine, sum, ints, MPI_INT, op, all);
  }
  for (int i = 0; i < ints; i++)
    CHECK(sum[i] == size * (size - 1) / 2 + size * i, "element %d: %d", i, sum[i]);
  MPI_Op_free(&op);
}
static void reduce_short(void) {
  reduce_among(3, 0);
}
static void reduce_long(void) {
  reduce_among(kInts, 0);
}
static void reduce_later(void) {
  reduce_among(kInts, 1);
}
static void write_converted(void) {
  int data[100];
  char name[1000];
  MPI_File file;
  for (int i = 0; i < 100; i++) data[i] = i;
  snprintf(name, sizeof name, "%s.%d", file_name, rank);
  MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "meeting", MPI_INFO_NULL);
  MPI_File_write(file, data, 100, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}
/* A function of a tool that an event calls, and one that its handle calls when it is freed. */
static MPI_T_event_registration listen_to_unexpected(void) {
  MPI_T_event_registration registration;
  int index;
  MPI_T_event_get_index("unexpected_message", &index);
  MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration);
  MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, NULL, on_event);
  return registration;
}
static void hear_of_event(void) {
  const MPI_T_event_registration registration = listen_to_unexpected();
  MPI_Status status;
  MPI_Send(NULL, 0, MPI_INT, 0, kTag, own);
  MPI_Probe(0, kTag, own, &status);
  MPI_Recv(NULL, 0, MPI_INT, 0, kTag, own, MPI_STATUS_IGNORE);
  MPI_T_event_handle_free(registration, NULL, NULL);
}
static void free_event(void) {
  MPI_T_event_handle_free(listen_to_unexpected(), NULL, on_free);
}

/* What needs progress, of this rank alone; and among the main threads, where each of them is there. */
static void talk(MPI_Comm among, int all_are_there) {
  int out = 17, in = 0, left, size;
  MPI_Request request;
  MPI_Irecv(&in, 1, MPI_INT, 0, 0, others, &request);
  MPI_Ssend(&out, 1, MPI_INT, 0, 0, others);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(in == 17, "%d came", in);
  if (!all_are_there) return;
  MPI_Comm_size(among, &size);
  left = (rank + size - 1) % size;
  MPI_Irecv(&in, 1, MPI_INT, left, 0, among, &request);
  MPI_Ssend(&rank, 1, MPI_INT, (rank + 1) % size, 0, among);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(in == left, "%d came, not %d", in, left);
  MPI_Barrier(among);
}

typedef struct {
  void (*call)(void);
  int of_each; /* every rank's function is called, whatever the others do */
} Case;

static void* call(void* argument) {
  ((Case*)argument)->call();
  atomic_store(&over, 1);
  return NULL;
}

int main(int argc, char** argv) {
  static Case cases[] = {
      {copy_attribute, 1},  {delete_attribute, 1}, {query_request, 1}, {free_request, 1}, {cancel_request, 1},
      {handle_error, 1},    {reduce_local, 1},     {reduce_short, 0},  {reduce_long, 0},  {reduce_later, 0},
      {write_converted, 1}, {hear_of_event, 1},    {free_event, 1},
  };
  int provided, met = 0;
  MPI_Comm among;
  MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE, "thread level %d", provided);
  CHECK(argc == 2, "%d arguments", argc - 1);
  file_name = argv[1];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_SELF, &own);
  MPI_Comm_dup(MPI_COMM_SELF, &others);
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  MPI_Comm_dup(MPI_COMM_WORLD, &among);
  MPI_Register_datarep("meeting", MPI_CONVERSION_FN_NULL, convert, extent, NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pthread_t thread;
    atomic_store(&inside, 0);
    atomic_store(&over, 0);
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, call, &cases[i]);
    while (!atomic_load(&inside) && !atomic_load(&over)) sched_yield();
    met += atomic_load(&inside);
    talk(among, cases[i].of_each);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
  }
  CHECK(met >= 10, "%d functions were called", met);
  MPI_Comm_free(&own);
  MPI_Comm_free(&others);
  MPI_Comm_free(&all);
  MPI_Comm_free(&among);
  if (rank == 0) printf("callbacks: right\n");
  MPI_Finalize();
  MPI_T_finalize();
  return 0;
}

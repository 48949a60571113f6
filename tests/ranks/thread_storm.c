/* MPI_THREAD_MULTIPLE: several threads a rank, all in MPI at the same time.

   storm      each thread, with a communicator of its own, takes random steps: messages in every form, short
   and long, collectives, reductions by a user's operation, files, new communicators, types, attributes.
   Thread i draws the same steps on every rank.
   hand over  some threads start requests on one communicator, others complete them
   pool       all threads take messages from one communicator by matched probes; each message arrives once
   parts      all threads make partitions of one message ready, and look which have arrived
   patience   threads that block on what comes late, next to threads that never stop looking

   argv: seed, threads, steps, seconds; where seconds are given the storm goes on for that long instead. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kThreadsMax = 16, kIntsMax = 20000, kIntsLong = 300000, kMessages = 120, kPoolTag = 7 };
enum { kPartInts = 5000, kPartRounds = 12, kStepsPerLook = 32 };

typedef struct {
  int id, rank, size;
  unsigned random;
  MPI_Comm comm;
} Thread;

static unsigned seed = 1;
static int threads = 4, steps = 40, seconds;
static double storm_begin; /* at rank 0 */
static int world_rank, world_size;
static int storm_number; /* of this job: alike at all ranks, another one than other jobs' */
static MPI_Comm shared_comm;

static int draw(Thread* t, int below) {
  t->random = t->random * 1103515245u + 12345u;
  return (int)((t->random >> 8) % (unsigned)below);
}

static int draw_ints(Thread* t) {
  static const int sizes[] = {0, 1, 9, 10, 11, 200, 1024, 5000, kIntsMax};
  return sizes[draw(t, (int)(sizeof sizes / sizeof *sizes))];
}

static int value(int source, int id, int step, int i) {
  return source * 1000003 + id * 10007 + step * 101 + i;
}

static void fill(int* data, int n, int source, int id, int step) {
  for (int i = 0; i < n; i++) data[i] = value(source, id, step, i);
}

static void expect(const int* data, int n, int source, int id, int step, const char* what) {
  for (int i = 0; i < n; i++) {
    CHECK(data[i] == value(source, id, step, i), "%s, thread %d, step %d: element %d of %d is wrong", what,
          id, step, i, n);
  }
}

/* ---- storm: steps on the thread's own communicator ---- */

static void complete(Thread* t, MPI_Request* requests, int n) {
  int index, flag = 0, count, indices[4];
  switch (draw(t, 4)) {
    case 0:
      MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
      break;
    case 1:
      for (int i = 0; i < n; i++) MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
      break;
    case 2:
      while (!flag) MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
      break;
    default:
      for (int done = 0; done < n; done += count) {
        MPI_Waitsome(n, requests, &count, indices, MPI_STATUSES_IGNORE);
      }
  }
}

static void step_message(Thread* t, int step, int* out, int* in) {
  const int n = draw_ints(t), form = draw(t, 6), tag = draw(t, 3);
  const int right = (t->rank + 1) % t->size, left = (t->rank + t->size - 1) % t->size;
  MPI_Request requests[2];
  MPI_Message message;
  int flag = 0;
  fill(out, n, t->rank, t->id, step);
  memset(in, 0xff, (size_t)n * sizeof *in);
  if (form == 0) {
    MPI_Sendrecv(out, n, MPI_INT, right, tag, in, n, MPI_INT, left, tag, t->comm, MPI_STATUS_IGNORE);
  } else if (form == 1) {
    MPI_Irecv(in, n, MPI_INT, left, MPI_ANY_TAG, t->comm, &requests[0]);
    MPI_Issend(out, n, MPI_INT, right, tag, t->comm, &requests[1]);
    complete(t, requests, 2);
  } else if (form == 2) {
    MPI_Isend(out, n, MPI_INT, right, tag, t->comm, &requests[0]);
    MPI_Recv(in, n, MPI_INT, MPI_ANY_SOURCE, tag, t->comm, MPI_STATUS_IGNORE);
    complete(t, requests, 1);
  } else if (form == 3) {
    MPI_Isend(out, n, MPI_INT, right, tag, t->comm, &requests[0]);
    MPI_Mprobe(left, tag, t->comm, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in, n, MPI_INT, &message, &requests[1]);
    complete(t, requests, 2);
  } else if (form == 4) {
    MPI_Isend(out, n, MPI_INT, right, tag, t->comm, &requests[0]);
    while (!flag) MPI_Iprobe(left, tag, t->comm, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(in, n, MPI_INT, left, tag, t->comm, MPI_STATUS_IGNORE);
    complete(t, requests, 1);
  } else {
    MPI_Recv_init(in, n, MPI_INT, left, tag, t->comm, &requests[0]);
    MPI_Send_init(out, n, MPI_INT, right, tag, t->comm, &requests[1]);
    for (int round = 0; round < 3; round++) {
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
  }
  expect(in, n, left, t->id, step, "message");
}

static void step_collectives(Thread* t, int step, int* out, int* in) {
  const int n = draw(t, 300), root = draw(t, t->size);
  int sum = t->rank + step, total = -1, all[64];
  MPI_Request requests[3];
  fill(out, n, root, t->id, step);
  if (t->rank != root) memset(out, 0xff, (size_t)n * sizeof *out);
  MPI_Ibcast(out, n, MPI_INT, root, t->comm, &requests[0]);
  MPI_Iallreduce(&sum, &total, 1, MPI_INT, MPI_SUM, t->comm, &requests[1]);
  MPI_Iallgather(&t->rank, 1, MPI_INT, all, 1, MPI_INT, t->comm, &requests[2]);
  complete(t, requests, 3);
  expect(out, n, root, t->id, step, "bcast");
  CHECK(total == t->size * step + t->size * (t->size - 1) / 2, "thread %d: allreduce gave %d", t->id, total);
  for (int i = 0; i < t->size; i++) CHECK(all[i] == i, "thread %d: allgather[%d] = %d", t->id, i, all[i]);
  MPI_Allreduce_init(&sum, &in[0], 1, MPI_INT, MPI_MAX, t->comm, MPI_INFO_NULL, &requests[0]);
  MPI_Start(&requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Request_free(&requests[0]);
  CHECK(in[0] == step + t->size - 1, "thread %d: persistent allreduce gave %d", t->id, in[0]);
  MPI_Barrier(t->comm);
}

static void step_communicators(Thread* t, int step) {
  MPI_Comm made[4];
  MPI_Group group;
  MPI_Request request;
  MPI_Comm_dup(t->comm, &made[0]);
  MPI_Comm_split(made[0], t->rank % 2, -t->rank, &made[1]);
  MPI_Comm_idup(t->comm, &made[2], &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_group(t->comm, &group);
  MPI_Comm_create_group(t->comm, group, step, &made[3]);
  MPI_Group_free(&group);
  const int expected[] = {t->size, (t->size + 1 - t->rank % 2) / 2, t->size, t->size};
  for (int i = 3; i >= 0; i--) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made[i]);
    CHECK(sum == expected[i], "thread %d: communicator %d has %d ranks, not %d", t->id, i, sum, expected[i]);
    MPI_Comm_free(&made[i]);
  }
}

/* Long enough for the threads to copy and to reduce at the same time. */
static void step_long(Thread* t, int step) {
  const int right = (t->rank + 1) % t->size, left = (t->rank + t->size - 1) % t->size;
  int* out = malloc(kIntsLong * sizeof *out);
  int* in = malloc(kIntsLong * sizeof *in);
  MPI_Request requests[2];
  fill(out, kIntsLong, t->rank, t->id, step);
  if (draw(t, 2) == 0) {
    MPI_Isend(out, kIntsLong, MPI_INT, right, 5, t->comm, &requests[0]);
    MPI_Irecv(in, kIntsLong, MPI_INT, left, 5, t->comm, &requests[1]);
  } else {
    MPI_Irecv(in, kIntsLong, MPI_INT, left, 5, t->comm, &requests[0]);
    MPI_Issend(out, kIntsLong, MPI_INT, right, 5, t->comm, &requests[1]);
  }
  complete(t, requests, 2);
  expect(in, kIntsLong, left, t->id, step, "long message");
  free(in);
  free(out);
}

static void add(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *length; i++) ((int*)inout)[i] += ((int*)in)[i];
}

static void step_reductions(Thread* t, int step, int* out, int* in) {
  MPI_Op op;
  MPI_Request request;
  MPI_Op_create(add, 1, &op);
  for (int i = 0; i < kIntsMax; i++) out[i] = t->rank + step + i;
  memset(in, 0xff, kIntsMax * sizeof *in);
  if (draw(t, 2) == 0) {
    MPI_Allreduce(out, in, kIntsMax, MPI_INT, draw(t, 2) == 0 ? op : MPI_SUM, t->comm);
  } else {
    MPI_Iallreduce(out, in, kIntsMax, MPI_INT, draw(t, 2) == 0 ? op : MPI_SUM, t->comm, &request);
    complete(t, &request, 1);
  }
  for (int i = 0; i < kIntsMax; i++) {
    const int expected = t->size * (step + i) + t->size * (t->size - 1) / 2;
    CHECK(in[i] == expected, "thread %d, step %d: sum %d is %d, not %d", t->id, step, i, in[i], expected);
  }
  MPI_Op_free(&op);
}

/* The ranks' blocks of a file of the thread's own, written and read together or alone. */
static void step_files(Thread* t, int step, int* out, int* in) {
  const int n = 1 + draw(t, 5000), left = (t->rank + t->size - 1) % t->size;
  const MPI_Offset block = (MPI_Offset)n * (MPI_Offset)sizeof(int);
  const char* folder = getenv("TMPDIR");
  char name[1000];
  MPI_File file;
  snprintf(name, sizeof name, "%s/thread-storm-%d-%d", folder != NULL ? folder : "/tmp", storm_number, t->id);
  MPI_File_open(t->comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                &file);
  fill(out, n, t->rank, t->id, step);
  const int form = draw(t, 3);
  if (form == 0) {
    MPI_File_write_at_all(file, t->rank * block, out, n, MPI_INT, MPI_STATUS_IGNORE);
  } else if (form == 1) {
    MPI_File_write_at(file, t->rank * block, out, n, MPI_INT, MPI_STATUS_IGNORE);
  } else {
    MPI_Request request;
    MPI_File_iwrite_at(file, t->rank * block, out, n, MPI_INT, &request);
    complete(t, &request, 1);
  }
  MPI_File_sync(file);
  MPI_Barrier(t->comm);
  MPI_File_read_at(file, left * block, in, n, MPI_INT, MPI_STATUS_IGNORE);
  expect(in, n, left, t->id, step, "file");
  MPI_File_close(&file);
}

static int copied(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)extra;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

static void step_objects(Thread* t, int step, int* out, int* in) {
  MPI_Datatype column, pair;
  MPI_Info info, copy;
  MPI_Errhandler handler;
  int key, flag, place;
  char text[32], got[32];
  void* seen;
  MPI_Type_vector(50, 1, 3, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, 4, &pair);
  MPI_Type_free(&column);
  MPI_Type_commit(&pair);
  fill(out, 150, t->rank, t->id, step);
  MPI_Sendrecv(out, 2, pair, t->rank, 1, in, 100, MPI_INT, t->rank, 1, t->comm, MPI_STATUS_IGNORE);
  for (int i = 0; i < 100; i++) {
    place = i / 50 + i % 50 * 3;
    CHECK(in[i] == out[place], "thread %d: strided element %d is wrong", t->id, i);
  }
  MPI_Type_free(&pair);
  MPI_Comm_create_keyval(copied, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  void* const attribute = &in[step % kIntsMax];
  MPI_Comm_set_attr(t->comm, key, attribute);
  MPI_Comm_get_attr(t->comm, key, &seen, &flag);
  CHECK(flag && seen == attribute, "thread %d: another attribute came back", t->id);
  MPI_Comm_delete_attr(t->comm, key);
  MPI_Comm_free_keyval(&key);
  MPI_Info_create(&info);
  snprintf(text, sizeof text, "%d-%d", t->id, step);
  MPI_Info_set(info, "key", text);
  MPI_Info_dup(info, &copy);
  MPI_Info_free(&info);
  int length = sizeof got;
  MPI_Info_get_string(copy, "key", &length, got, &flag);
  CHECK(flag && strcmp(got, text) == 0, "thread %d: info gave %s, not %s", t->id, got, text);
  MPI_Info_free(&copy);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  MPI_Errhandler_free(&handler);
}

static int goes_on(Thread* t, int step) {
  int goes = step < steps;
  if (seconds == 0) return goes;
  if (step % kStepsPerLook != 0) return 1;
  goes = MPI_Wtime() - storm_begin < seconds;
  MPI_Bcast(&goes, 1, MPI_INT, 0, t->comm);
  return goes;
}

static void* storm(void* argument) {
  Thread* t = argument;
  int* out = malloc(2 * kIntsMax * sizeof *out);
  for (int step = 0; goes_on(t, step); step++) {
    switch (draw(t, 16)) {
      case 0:
        step_long(t, step);
        break;
      case 1:
        step_reductions(t, step, out, out + kIntsMax);
        break;
      case 2:
        step_files(t, step, out, out + kIntsMax);
        break;
      case 3:
      case 4:
        step_collectives(t, step, out, out + kIntsMax);
        break;
      case 5:
      case 6:
        step_communicators(t, step);
        break;
      case 7:
      case 8:
        step_objects(t, step, out, out + kIntsMax);
        break;
      default:
        step_message(t, step, out, out + kIntsMax);
    }
  }
  free(out);
  return NULL;
}

/* ---- hand over: one thread starts a request, another completes it ---- */

typedef struct {
  MPI_Request request;
  int *data, n, source, step;
} Job;

static Job jobs[kThreadsMax * kMessages * 2];
static int jobs_made, jobs_taken, jobs_all;
static pthread_mutex_t jobs_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t jobs_bell = PTHREAD_COND_INITIALIZER;

static void push(Job job) {
  pthread_mutex_lock(&jobs_lock);
  jobs[jobs_made++] = job;
  pthread_cond_signal(&jobs_bell);
  pthread_mutex_unlock(&jobs_lock);
}

/* Up to `most` jobs, at least one; 0 when there will be no more. */
static int pop(Job* taken, int most) {
  pthread_mutex_lock(&jobs_lock);
  while (jobs_taken == jobs_made && jobs_taken < jobs_all) pthread_cond_wait(&jobs_bell, &jobs_lock);
  int n = 0;
  while (n < most && jobs_taken < jobs_made) taken[n++] = jobs[jobs_taken++];
  if (jobs_taken == jobs_all) pthread_cond_broadcast(&jobs_bell);
  pthread_mutex_unlock(&jobs_lock);
  return n;
}

static void* start_requests(void* argument) {
  Thread* t = argument;
  for (int step = 0; step < kMessages; step++) {
    const int n = draw_ints(t) / 4, tag = t->id * kMessages + step;
    const int right = (t->rank + 1) % t->size, left = (t->rank + t->size - 1) % t->size;
    Job in = {MPI_REQUEST_NULL, malloc(((size_t)n + 1) * sizeof(int)), n, left, tag};
    Job out = {MPI_REQUEST_NULL, malloc(((size_t)n + 1) * sizeof(int)), n, t->rank, tag};
    fill(out.data, n, t->rank, 0, tag);
    MPI_Irecv(in.data, n, MPI_INT, left, tag, shared_comm, &in.request);
    MPI_Isend(out.data, n, MPI_INT, right, tag, shared_comm, &out.request);
    push(in);
    push(out);
  }
  return NULL;
}

static void* finish_requests(void* argument) {
  Thread* t = argument;
  Job taken[4];
  MPI_Request requests[4];
  for (int n; (n = pop(taken, 1 + draw(t, 4))) > 0;) {
    for (int i = 0; i < n; i++) requests[i] = taken[i].request;
    complete(t, requests, n);
    for (int i = 0; i < n; i++) {
      CHECK(requests[i] == MPI_REQUEST_NULL, "a completed request is not null");
      expect(taken[i].data, taken[i].n, taken[i].source, 0, taken[i].step, "handed over");
      free(taken[i].data);
    }
  }
  return NULL;
}

/* ---- pool: matched probes on one communicator ---- */

static int tickets, seen[64 * kMessages];

static void* take_from_pool(void* argument) {
  Thread* t = argument;
  if (t->id == 0) {
    int* data = malloc(kIntsMax * sizeof *data);
    for (int step = 0; step < kMessages; step++) {
      for (int target = 0; target < t->size; target++) {
        const int n = 1 + draw_ints(t) / 10;
        fill(data, n, t->rank, 0, step);
        data[0] = t->rank * kMessages + step;
        MPI_Send(data, n, MPI_INT, target, kPoolTag, shared_comm);
      }
    }
    free(data);
  }
  while (__atomic_sub_fetch(&tickets, 1, __ATOMIC_RELAXED) >= 0) {
    MPI_Message message;
    MPI_Status status;
    int n, flag = 0;
    if (t->id % 2 == 0) {
      MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, shared_comm, &message, &status);
    } else {
      while (!flag) {
        MPI_Improbe(MPI_ANY_SOURCE, kPoolTag, shared_comm, &flag, &message, &status);
        if (!flag) sched_yield();
      }
    }
    MPI_Get_count(&status, MPI_INT, &n);
    int* data = malloc((size_t)n * sizeof *data);
    MPI_Mrecv(data, n, MPI_INT, &message, &status);
    CHECK(data[0] / kMessages == status.MPI_SOURCE, "a message of %d names %d", status.MPI_SOURCE,
          data[0] / kMessages);
    CHECK(__atomic_fetch_add(&seen[data[0]], 1, __ATOMIC_RELAXED) == 0, "message %d came twice", data[0]);
    const int step = data[0] % kMessages;
    data[0] = value(status.MPI_SOURCE, 0, step, 0);
    expect(data, n, status.MPI_SOURCE, 0, step, "pool");
    free(data);
  }
  return NULL;
}

/* ---- parts: one message of all threads, two partitions of each ---- */

static MPI_Request part_requests[2]; /* the send and the receive, which has one partition for each thread */
static int *parts_out, *parts_in;
static pthread_barrier_t parts_gate;

static void* make_parts_ready(void* argument) {
  Thread* t = argument;
  const int left = (t->rank + t->size - 1) % t->size, other = (t->id + 1) % threads;
  int* const mine = parts_out + 2 * t->id * kPartInts;
  for (int round = 0; round < kPartRounds; round++) {
    if (t->id == 0) MPI_Startall(2, part_requests);
    pthread_barrier_wait(&parts_gate);
    fill(mine, 2 * kPartInts, t->rank, t->id, round);
    if (draw(t, 2) == 0) {
      MPI_Pready(2 * t->id + 1, part_requests[0]);
      MPI_Pready(2 * t->id, part_requests[0]);
    } else {
      MPI_Pready_range(2 * t->id, 2 * t->id + 1, part_requests[0]);
    }
    for (int flag = 0; !flag;) {
      MPI_Parrived(part_requests[1], other, &flag);
      if (!flag) sched_yield();
    }
    expect(parts_in + 2 * other * kPartInts, 2 * kPartInts, left, other, round, "partition");
    pthread_barrier_wait(&parts_gate);
    if (t->id == 0) MPI_Waitall(2, part_requests, MPI_STATUSES_IGNORE);
  }
  return NULL;
}

static void run(Thread* all, void* (*odd)(void*), void* (*even)(void*));

static void run_parts(Thread* all) {
  const int n = 2 * threads * kPartInts;
  const int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
  parts_out = malloc(2 * (size_t)n * sizeof *parts_out);
  parts_in = parts_out + n;
  pthread_barrier_init(&parts_gate, NULL, (unsigned)threads);
  MPI_Psend_init(parts_out, 2 * threads, kPartInts, MPI_INT, right, 1, shared_comm, MPI_INFO_NULL,
                 &part_requests[0]);
  MPI_Precv_init(parts_in, threads, 2 * kPartInts, MPI_INT, left, 1, shared_comm, MPI_INFO_NULL,
                 &part_requests[1]);
  run(all, make_parts_ready, make_parts_ready);
  MPI_Request_free(&part_requests[0]);
  MPI_Request_free(&part_requests[1]);
  pthread_barrier_destroy(&parts_gate);
  free(parts_out);
}

/* ---- patience: threads that block and threads that test must both go on ---- */

static int arrived;

static void* be_patient(void* argument) {
  Thread* t = argument;
  const int left = (t->rank + t->size - 1) % t->size, right = (t->rank + 1) % t->size;
  int in = -1, flag = 0;
  MPI_Request request;
  MPI_Status status;
  if (t->id == 0) { /* looks for what comes last of all, and without a pause */
    while (!flag) MPI_Iprobe(left, 1000, shared_comm, &flag, &status);
    MPI_Recv(&in, 1, MPI_INT, left, 1000, shared_comm, &status);
  } else if (t->id == 1) { /* sends what the others wait for, then to the one that looks */
    for (int i = threads - 1; i >= 2; i--) {
      MPI_Ssend(&i, 1, MPI_INT, right, i, shared_comm);
      while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < threads - i) sched_yield();
    }
    MPI_Send(&t->id, 1, MPI_INT, right, 1000, shared_comm);
  } else {
    if (t->id % 3 == 0) {
      MPI_Recv(&in, 1, MPI_INT, left, t->id, shared_comm, &status);
    } else if (t->id % 3 == 1) {
      MPI_Probe(left, t->id, shared_comm, &status);
      MPI_Recv(&in, 1, MPI_INT, left, t->id, shared_comm, &status);
    } else {
      MPI_Irecv(&in, 1, MPI_INT, left, t->id, shared_comm, &request);
      MPI_Wait(&request, &status);
    }
    CHECK(in == t->id, "thread %d got %d", t->id, in);
    __atomic_fetch_add(&arrived, 1, __ATOMIC_RELEASE);
  }
  return NULL;
}

/* ---- */

static void run(Thread* all, void* (*odd)(void*), void* (*even)(void*)) {
  pthread_t running[kThreadsMax];
  for (int i = 0; i < threads; i++) pthread_create(&running[i], NULL, i % 2 ? odd : even, &all[i]);
  for (int i = 0; i < threads; i++) pthread_join(running[i], NULL);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int provided;
  if (argc > 1) seed = (unsigned)atoi(argv[1]);
  if (argc > 2) threads = atoi(argv[2]);
  if (argc > 3) steps = atoi(argv[3]);
  if (argc > 4) seconds = atoi(argv[4]);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE, "thread level %d", provided);
  CHECK(threads >= 3 && threads <= kThreadsMax, "3 to %d threads", kThreadsMax);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  storm_number = (int)getpid();
  MPI_Bcast(&storm_number, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &shared_comm);
  Thread all[kThreadsMax];
  for (int i = 0; i < threads; i++) {
    all[i] = (Thread){.id = i, .rank = world_rank, .size = world_size, .random = seed * 31u + (unsigned)i};
    MPI_Comm_dup(MPI_COMM_WORLD, &all[i].comm);
  }
  storm_begin = MPI_Wtime();
  run(all, storm, storm);
  jobs_all = (threads + 1) / 2 * kMessages * 2;
  run(all, finish_requests, start_requests);
  tickets = world_size * kMessages;
  run(all, take_from_pool, take_from_pool);
  for (int i = 0; i < world_size * kMessages; i++)
    CHECK(seen[i] == 1, "message %d came %d times", i, seen[i]);
  run_parts(all);
  run(all, be_patient, be_patient);
  for (int i = 0; i < threads; i++) MPI_Comm_free(&all[i].comm);
  MPI_Comm_free(&shared_comm);
  if (world_rank == 0) printf("thread storm: right (seed %u)\n", seed);
  MPI_Finalize();
  return 0;
}

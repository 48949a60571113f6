/* A program that does all kinds of work, and dies where it is told to:
 * work FOLDER SEED ROUNDS VICTIM MEANS PLACE
 *
 * All ranks draw the same order of scenes from SEED. ROUNDS scenes are played, 0: for ever.
 * VICTIM   who dies: a rank; "all"; "child", rank 0 of every world that is spawned; "none"
 * MEANS    kill segv bus abort exit _exit zero: how; memory: it gets no more of it; none
 * PLACE    call:N      before or after the Nth of its calls, MPI_Init and MPI_Finalize included
 *          time:US     that long after main() began, by a signal: inside of whatever it is in
 *          init:US, finalize:US     the same, counted from the call of MPI_Init, MPI_Finalize
 *          op:N, delete:N, handler:N    in the Nth call of that user's function of this process
 *          outside     not by itself: it waits for its end where its rounds are over
 * Each rank writes its process number into FOLDER/pid.RANK first. campaign.py draws the arguments and judges.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../ranks/check.h"

#define BIG (1 << 20)

static const char *folder, *means, *place, *program;
static int rank, ranks, is_victim, is_child;
static long place_number, calls, ops, deletes, handled;
static unsigned random_state;
static char** arguments;

/* The same number at all ranks. */
static int draw(int limit) {
  random_state = random_state * 1664525U + 1013904223U;
  return (int)((random_state >> 16) % (unsigned)limit);
}

/* ---- dying ---- */

static void use_up_memory(void) {
  const struct rlimit limit = {64 << 20, 64 << 20};
  setrlimit(RLIMIT_AS, &limit); /* less than there is already: nothing can be had from now on */
}

/* `in_handler`: what is not safe in a signal handler is not done. */
static void die(int in_handler) {
  if (strcmp(means, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(means, "segv") == 0) *(volatile int*)(is_victim ? NULL : &is_victim) = 1;
  if (strcmp(means, "bus") == 0) {
    volatile char* page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, memfd_create("empty", 0), 0);
    (void)*page;
  }
  if (strcmp(means, "abort") == 0) abort();
  if (strcmp(means, "exit") == 0 && !in_handler) exit(7);
  if (strcmp(means, "exit") == 0 || strcmp(means, "_exit") == 0) _exit(7);
  if (strcmp(means, "zero") == 0) _exit(0);
  if (strcmp(means, "memory") == 0) use_up_memory();
}

static void on_timer(int number) {
  (void)number;
  die(1);
}

static int at(const char* what) {
  return is_victim && strncmp(place, what, strlen(what)) == 0;
}

static void arm(const char* what) {
  if (!at(what)) return;
  timer_t timer;
  struct sigaction action = {.sa_handler = on_timer};
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMAX - 1};
  const struct itimerspec when = {{0, 0}, {place_number / 1000000, place_number % 1000000 * 1000 + 1}};
  sigaction(SIGRTMAX - 1, &action, NULL);
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &when, NULL);
}

static void count(const char* what, long* counter) {
  if (at(what) && ++*counter == place_number) die(0);
}

#define DO(call)            \
  do {                      \
    count("call:", &calls); \
    call;                   \
    count("call:", &calls); \
  } while (0)

/* ---- scenes; each begins and ends with all ranks of MPI_COMM_WORLD ---- */

static char* some(size_t bytes) {
  char* memory = calloc(bytes, 1);
  CHECK(memory != NULL, "calloc of %zu bytes", bytes);
  return memory;
}

static void play_messages(void) {
  static const int sizes[] = {0, 8, 700, 9000, 70000, BIG};
  const int bytes = sizes[draw(6)], tag = draw(100), next = (rank + 1) % ranks,
            last = (rank + ranks - 1) % ranks;
  char *out = some((size_t)bytes + 1), *in = some((size_t)bytes + 1);
  MPI_Request requests[2];
  MPI_Status status;
  for (int turn = 0; turn < 4; ++turn) {
    DO(MPI_Irecv(in, bytes, MPI_CHAR, last, tag, MPI_COMM_WORLD, &requests[0]));
    if (turn % 2 == 0) DO(MPI_Isend(out, bytes, MPI_CHAR, next, tag, MPI_COMM_WORLD, &requests[1]));
    if (turn % 2 == 1) DO(MPI_Issend(out, bytes, MPI_CHAR, next, tag, MPI_COMM_WORLD, &requests[1]));
    DO(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  }
  DO(MPI_Isend(out, bytes, MPI_CHAR, next, tag, MPI_COMM_WORLD, &requests[0]));
  DO(MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status));
  DO(MPI_Recv(in, bytes, MPI_CHAR, status.MPI_SOURCE, tag, MPI_COMM_WORLD, &status));
  DO(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  free(out), free(in);
}

static void take_max(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  count("op:", &ops);
  for (int i = 0; i < *length; ++i) {
    if (((int*)in)[i] > ((int*)inout)[i]) ((int*)inout)[i] = ((int*)in)[i];
  }
}

static void play_collectives(void) {
  static const int sizes[] = {1, 100, 3000, BIG / 16};
  const int length = sizes[draw(4)], root = draw(ranks);
  int *out = (int*)some(sizeof(int) * (size_t)(length * ranks)),
      *in = (int*)some(sizeof(int) * (size_t)(length * ranks));
  MPI_Op op;
  MPI_Request request;
  DO(MPI_Op_create(take_max, draw(2), &op));
  DO(MPI_Bcast(out, length, MPI_INT, root, MPI_COMM_WORLD));
  DO(MPI_Allreduce(out, in, length, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  DO(MPI_Allreduce(out, in, length, MPI_INT, op, MPI_COMM_WORLD));
  DO(MPI_Alltoall(out, length, MPI_INT, in, length, MPI_INT, MPI_COMM_WORLD));
  DO(MPI_Barrier(MPI_COMM_WORLD));
  DO(MPI_Iallgather(out, length, MPI_INT, in, length, MPI_INT, MPI_COMM_WORLD, &request));
  DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
  DO(MPI_Reduce(out, in, length, MPI_INT, op, root, MPI_COMM_WORLD));
  DO(MPI_Scan(out, in, length, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  DO(MPI_Op_free(&op));
  free(out), free(in);
}

static void play_windows(void) {
  const int length = draw(2) == 0 ? 64 : BIG / 8, target = (rank + 1) % ranks;
  long *base, one = 1, old;
  char* out = some((size_t)length * sizeof(long));
  MPI_Win window;
  if (draw(2) == 0) {
    DO(MPI_Win_allocate(length * (MPI_Aint)sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window));
  } else {
    DO(MPI_Win_allocate_shared(length * (MPI_Aint)sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                               &window));
  }
  DO(MPI_Win_fence(0, window));
  DO(MPI_Put(out, length, MPI_LONG, target, 0, length, MPI_LONG, window));
  DO(MPI_Win_fence(0, window));
  for (int turn = 0; turn < 3; ++turn) {
    DO(MPI_Win_lock(turn % 2 == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, window));
    DO(MPI_Fetch_and_op(&one, &old, MPI_LONG, target, 0, MPI_SUM, window));
    DO(MPI_Win_unlock(target, window));
  }
  DO(MPI_Win_free(&window));
  free(out);
}

static void play_files(void) {
  char path[4096];
  const int bytes = draw(2) == 0 ? 100 : BIG / 4;
  char* memory = some((size_t)bytes);
  MPI_File file;
  snprintf(path, sizeof path, "%s/data", folder);
  DO(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  DO(MPI_File_write_at_all(file, (MPI_Offset)rank * bytes, memory, bytes, MPI_CHAR, MPI_STATUS_IGNORE));
  DO(MPI_File_write_shared(file, memory, 10, MPI_CHAR, MPI_STATUS_IGNORE));
  DO(MPI_File_write_ordered(file, memory, 10, MPI_CHAR, MPI_STATUS_IGNORE));
  DO(MPI_File_read_at(file, 0, memory, bytes, MPI_CHAR, MPI_STATUS_IGNORE));
  DO(MPI_File_close(&file));
  free(memory);
}

static int on_delete(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  count("delete:", &deletes);
  return MPI_SUCCESS;
}

static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  count("handler:", &handled);
}

static void play_communicators(void) {
  int key;
  MPI_Comm copy, half, node, ring;
  MPI_Errhandler handler;
  const int periodic = 1;
  DO(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL));
  DO(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  DO(MPI_Comm_set_attr(copy, key, NULL));
  DO(MPI_Comm_create_errhandler(on_error, &handler));
  DO(MPI_Comm_set_errhandler(copy, handler));
  DO(MPI_Send(NULL, 0, MPI_CHAR, ranks, 0, copy)); /* no such rank: the handler is called */
  DO(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
  DO(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  DO(MPI_Barrier(node));
  DO(MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 1, &ring));
  DO(MPI_Barrier(half));
  DO(MPI_Comm_free(&ring));
  DO(MPI_Comm_free(&node));
  DO(MPI_Comm_free(&half));
  DO(MPI_Errhandler_free(&handler));
  DO(MPI_Comm_free(&copy));
  DO(MPI_Comm_free_keyval(&key));
}

static void talk(MPI_Comm inter) {
  int sum = 0, one = 1;
  DO(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter));
  DO(MPI_Barrier(inter));
  DO(MPI_Comm_disconnect(&inter));
}

static void play_spawn(void) {
  MPI_Comm inter;
  char seed[32];
  snprintf(seed, sizeof seed, "%d", draw(1000));
  char* words[] = {arguments[1], seed, "-1", arguments[4], arguments[5], arguments[6], NULL};
  DO(MPI_Comm_spawn(program, words, 1 + draw(2), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                    MPI_ERRCODES_IGNORE));
  talk(inter);
}

static void play_names(void) {
  char port[MPI_MAX_PORT_NAME] = "", service[256];
  snprintf(service, sizeof service, "tasuki-work-%d-%d", (int)getpid(), rank);
  DO(MPI_Open_port(MPI_INFO_NULL, port));
  DO(MPI_Publish_name(service, MPI_INFO_NULL, port));
  DO(MPI_Lookup_name(service, MPI_INFO_NULL, port));
  DO(MPI_Barrier(MPI_COMM_WORLD));
  DO(MPI_Unpublish_name(service, MPI_INFO_NULL, port));
  DO(MPI_Close_port(port));
}

static void* exchange(void* comm) {
  char out[2000] = "", in[2000];
  for (int turn = 0; turn < 20; ++turn) {
    MPI_Sendrecv(out, turn * 100, MPI_CHAR, (rank + 1) % ranks, 0, in, 2000, MPI_CHAR,
                 (rank + ranks - 1) % ranks, 0, *(MPI_Comm*)comm, MPI_STATUS_IGNORE);
  }
  return NULL;
}

static void play_threads(void) {
  pthread_t threads[3];
  MPI_Comm comms[3];
  for (int i = 0; i < 3; ++i) DO(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
  for (int i = 0; i < 3; ++i)
    CHECK(pthread_create(&threads[i], NULL, exchange, &comms[i]) == 0, "pthread_create");
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 3; ++i) DO(MPI_Comm_free(&comms[i]));
}

static void play(int rounds) {
  static void (*const scenes[])(void) = {play_messages,      play_collectives, play_windows, play_files,
                                         play_communicators, play_spawn,       play_names,   play_threads};
  for (int round = 0; rounds == 0 || round < rounds; ++round) scenes[draw(8)]();
}

/* ---- the play ---- */

static void note_process(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/pid.%s", folder, getenv("TASUKI_RANK") ? getenv("TASUKI_RANK") : "0");
  FILE* file = fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%d\n", (int)getpid());
  fclose(file);
}

int main(int argc, char** argv) {
  if (argc != 7) return fprintf(stderr, "work: 6 arguments, please\n"), 2;
  program = argv[0], arguments = argv, folder = argv[1], means = argv[5], place = argv[6];
  random_state = (unsigned)atol(argv[2]);
  const int rounds = atoi(argv[3]);
  const char *number = strchr(place, ':'), *mine = getenv("TASUKI_RANK");
  place_number = number != NULL ? atol(number + 1) : 0;
  is_child = rounds < 0;
  if (is_child) is_victim = strcmp(argv[4], "child") == 0 && mine != NULL && strcmp(mine, "0") == 0;
  if (!is_child) is_victim = strcmp(argv[4], "all") == 0 || (mine != NULL && strcmp(mine, argv[4]) == 0);
  if (!is_child) note_process();
  int provided;
  arm("time:");
  arm("init:");
  DO(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (is_child) {
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    talk(parent);
  } else {
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL); /* deleted by MPI_Finalize */
    play(rounds);
  }
  arm("finalize:");
  DO(MPI_Finalize());
  const int ends = is_victim && !is_child && strcmp(means, "memory") != 0;
  if (ends) pause(); /* the end comes */
  return 0;
}

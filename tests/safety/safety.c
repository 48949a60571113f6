/* Programs for the tests of safety:
 *   safety wait            shares all that can be shared, prints "rank pid port", and waits for ever
 *   safety publish NAME    publishes NAME, looks it up, prints "published" or the error
 *   safety connect PORT    prints "connected" or the error
 *   safety wild SEED BITS  exchanges messages of all kinds, while the last rank flips BITS bits, here and
 *                          there, in the memory that it shares with the others; prints "done"
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static void show(int code, const char* well) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  if (code == MPI_SUCCESS) {
    printf("%s\n", well);
  } else {
    MPI_Error_string(code, text, &length);
    printf("error: %s\n", text);
  }
  fflush(stdout);
}

static void wait_for_ever(void) {
  char port[MPI_MAX_PORT_NAME];
  MPI_Win win;
  void* base;
  MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  MPI_Open_port(MPI_INFO_NULL, port);
  printf("%d %d %s\n", rank, (int)getpid(), port);
  fflush(stdout);
  MPI_Comm other;
  MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
}

static void publish(const char* name) {
  char port[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME];
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Open_port(MPI_INFO_NULL, port);
  int code = MPI_Publish_name(name, MPI_INFO_NULL, port);
  if (code == MPI_SUCCESS) code = MPI_Lookup_name(name, MPI_INFO_NULL, found);
  show(code, "published");
}

static void connect_to(const char* port) {
  MPI_Comm other;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  show(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other), "connected");
}

/* ----- wild ------------------------------------------------------------------------------------------- */

struct piece {
  unsigned char* memory;
  size_t bytes;
};
static struct piece pieces[256];
static int piece_count, bits;
static uint64_t state;

static uint64_t draw(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state ^ state >> 33) * 0xff51afd7ed558ccdu >> 17;
}

/* The job's segment and those of windows; not the heaps of the others, which hold whatever they have. */
static void find_pieces(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  piece_count = 0;
  while (maps && fgets(line, sizeof line, maps) && piece_count < 256) {
    unsigned long begin, end;
    if (!strstr(line, "memfd:tasuki-job") && !strstr(line, "memfd:tasuki-segment")) continue;
    if (sscanf(line, "%lx-%lx", &begin, &end) != 2) continue;
    pieces[piece_count++] = (struct piece){(unsigned char*)begin, end - begin};
  }
  if (maps) fclose(maps);
}

/* Most of it is zero, and never used: bits are flipped where something is, or close by. */
static void* flip(void* unused) {
  (void)unused;
  for (int done = 0, tries = 0; done < bits && tries < 2000000; ++tries) {
    const struct piece* one = &pieces[draw() % (uint64_t)piece_count];
    size_t bytes = draw() % 4 == 0 && one->bytes > 16384 ? 16384 : one->bytes;
    unsigned char* at = one->memory + draw() % bytes;
    if (*at == 0 && draw() % 512 != 0) continue;
    __atomic_fetch_xor(at, (unsigned char)(1u << draw() % 8), __ATOMIC_RELAXED);
    ++done;
    if (draw() % 4 == 0) usleep(draw() % 300);
  }
  return NULL;
}

static void exchange(int bytes, int tag) {
  int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  char *out = calloc(1, bytes), *in = calloc(1, bytes);
  MPI_Request requests[2];
  MPI_Irecv(in, bytes, MPI_CHAR, tag % 3 ? previous : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &requests[0]);
  (tag % 4 ? MPI_Isend : MPI_Issend)(out, bytes, MPI_CHAR, next, tag, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  free(out);
  free(in);
}

static void meet(int count) {
  int* one = calloc((size_t)count * size, sizeof *one);
  int* other = calloc((size_t)count * size, sizeof *other);
  MPI_Bcast(one, count, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Allreduce(one, other, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Alltoall(one, count, MPI_INT, other, count, MPI_INT, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  free(one);
  free(other);
}

static void reach(MPI_Win win) {
  int values[64] = {0}, next = (rank + 1) % size;
  MPI_Win_fence(0, win);
  MPI_Accumulate(values, 64, MPI_INT, next, 0, 64, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
  MPI_Get(values, 64, MPI_INT, next, 0, 64, MPI_INT, win);
  MPI_Win_unlock(next, win);
}

static void wild(uint64_t seed) {
  pthread_t thread;
  MPI_Win win;
  void* base;
  state = seed * 0x9e3779b97f4a7c15u + 1;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Win_allocate_shared(4096, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  meet(1);
  const int is_wild = rank == size - 1;
  if (is_wild) find_pieces();
  if (is_wild) pthread_create(&thread, NULL, flip, NULL);
  for (int round = 0; round < 40; ++round) {
    for (int bytes = 8; bytes < 300000; bytes *= 12) exchange(bytes, round);
    for (int count = 1; count < 20000; count *= 40) meet(count);
    reach(win);
  }
  if (is_wild) pthread_join(thread, NULL);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc == 2 && !strcmp(argv[1], "wait")) wait_for_ever();
  if (argc == 3 && !strcmp(argv[1], "publish")) publish(argv[2]);
  if (argc == 3 && !strcmp(argv[1], "connect")) connect_to(argv[2]);
  if (argc == 4 && !strcmp(argv[1], "wild")) {
    bits = atoi(argv[3]);
    wild(strtoull(argv[2], NULL, 10));
  }
  MPI_Finalize();
  if (argc == 4 && rank == 0) puts("done");
  return 0;
}

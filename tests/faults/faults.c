/* The program of the fault tests: faults storm BYTES | eat | receive MIB | maps
 *
 * storm    every rank exchanges messages of about BYTES with its neighbours for ever, from memory that can be
 *          global and memory that cannot; each says its process number first. The test kills one.
 * eat      rank 1 takes memory until it is ended; the others wait for a message from it.
 * receive  rank 1 posts receives of MIB MiB in all, which rank 0 fills: either touches the memory first.
 * maps     sends messages of many sizes, then looks where the memory that it shares lies.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../ranks/check.h"

static char* mapped(size_t bytes) {
  char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED, "mmap of %zu bytes", bytes);
  return memory;
}

static void storm(int rank, int ranks, size_t bytes) {
  char* out[2] = {malloc(bytes), mapped(bytes)};
  char* in[2][2] = {{malloc(bytes), malloc(bytes)}, {mapped(bytes), mapped(bytes)}};
  unsigned random = 12345U + (unsigned)rank;
  const int neighbours[2] = {(rank + 1) % ranks, (rank + ranks - 1) % ranks};
  printf("%d %d\n", rank, (int)getpid());
  fflush(stdout);
  for (int turn = 0;; ++turn) {
    MPI_Request requests[4];
    random = random * 1103515245U + 12345U;
    const int late = (random >> 16) % 2, place = (random >> 17) % 2, from = (random >> 18) % 2;
    const int count = (int)(turn % 3 == 0 ? bytes / 16 : bytes);
    memset(out[from], turn, (size_t)count);
    for (int part = 0; part < 2; ++part) {
      for (int side = 0; side < 2; ++side) {
        if (part == late) {
          MPI_Irecv(in[place][side], count, MPI_CHAR, neighbours[side], side, MPI_COMM_WORLD,
                    &requests[side]);
        } else {
          MPI_Isend(out[from], count, MPI_CHAR, neighbours[side], 1 - side, MPI_COMM_WORLD,
                    &requests[2 + side]);
        }
      }
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int side = 0; side < 2; ++side) {
      CHECK(in[place][side][0] == (char)turn && in[place][side][count - 1] == (char)turn, "turn %d", turn);
    }
  }
}

static void eat(int rank) {
  const size_t part = 4 << 20;
  if (rank != 1) MPI_Recv(NULL, 0, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (;;) {
    char* memory = malloc(part);
    CHECK(memory != NULL, "malloc says that there is no more");
    memset(memory, 1, part);
  }
}

static void receive(int rank, int mib) {
  const int part = 8 << 20;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < mib / 8; ++i) {
    char* memory = malloc((size_t)part);
    CHECK(memory != NULL, "malloc says that there is no more");
    if (rank == 0) {
      memset(memory, i, (size_t)part);
      MPI_Send(memory, part, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
      free(memory);
    } else if (rank == 1) {
      MPI_Recv(memory, part, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
}

/* No file of a file system that could be full: memfds alone. */
static void check_maps(void) {
  char line[4096];
  int shared = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  CHECK(maps != NULL, "/proc/self/maps");
  while (fgets(line, sizeof line, maps) != NULL) {
    char permissions[8] = "";
    if (sscanf(line, "%*s %7s", permissions) != 1 || permissions[3] != 's') continue;
    ++shared;
    CHECK(strstr(line, "/memfd:") != NULL || strstr(line, "/dev/zero (deleted)") != NULL, "%s", line);
  }
  fclose(maps);
  CHECK(shared > 0, "no shared memory at all");
}

static void maps(int rank, int ranks) {
  for (size_t bytes = 1; bytes <= (4 << 20); bytes *= 4) {
    char* out = calloc(bytes, 1);
    char* in = calloc(bytes, 1);
    MPI_Sendrecv(out, (int)bytes, MPI_CHAR, (rank + 1) % ranks, 0, in, (int)bytes, MPI_CHAR,
                 (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(out);
    free(in);
  }
  MPI_Win window;
  void* base;
  MPI_Win_allocate(1 << 16, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  check_maps();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* what = argc > 1 ? argv[1] : "";
  const long number = argc > 2 ? atol(argv[2]) : 0;
  if (strcmp(what, "storm") == 0) storm(rank, ranks, (size_t)number);
  if (strcmp(what, "eat") == 0) eat(rank);
  if (strcmp(what, "receive") == 0) receive(rank, (int)number);
  if (strcmp(what, "maps") == 0) maps(rank, ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}

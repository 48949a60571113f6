/* The program of test_resources.py: limits full FOLDER | descriptors | spawn RANK | clock | turns SECONDS
 *
 * full         all ranks write into a file system that becomes full; then they go on
 * descriptors  rank 1 may open no more descriptors: whatever all try to make together fails or not, for all
 *              of them alike; with the limit lifted everything works
 * spawn        RANK may open no more descriptors while all of them spawn
 * clock        messages, waits and MPI_Wtime while somebody turns the clock
 * turns        the ranks exchange messages until SECONDS of MPI_Wtime are over; each says its process number
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../ranks/check.h"

#define PART (1 << 20)

static int rank, ranks;
static const char* program;

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}

static void exchange(int bytes) {
  char *out = calloc((size_t)bytes + 1, 1), *in = calloc((size_t)bytes + 1, 1);
  MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + 1) % ranks, 0, in, bytes, MPI_CHAR, (rank + ranks - 1) % ranks,
               0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  free(out), free(in);
}

/* ---- full ---- */

/* Writes until there is no room: at `turn` 0 each for itself, then together, then by the shared pointer. */
static int write_until_full(MPI_File file, int turn, const char* memory) {
  for (MPI_Offset part = 0; part < 100; ++part) {
    const MPI_Offset place = (part * ranks + rank) * PART;
    int code = MPI_SUCCESS;
    if (turn == 0) code = MPI_File_write_at(file, place, memory, PART, MPI_CHAR, MPI_STATUS_IGNORE);
    if (turn == 1) code = MPI_File_write_at_all(file, place, memory, PART, MPI_CHAR, MPI_STATUS_IGNORE);
    if (turn == 2) code = MPI_File_write_shared(file, memory, PART, MPI_CHAR, MPI_STATUS_IGNORE);
    const int full = code != MPI_SUCCESS;
    int any = 0;
    CHECK(!full || class_of(code) == MPI_ERR_NO_SPACE, "class %d, expected MPI_ERR_NO_SPACE", class_of(code));
    MPI_Allreduce(&full, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (any) return 1;
  }
  return 0;
}

static void fill(const char* folder) {
  char path[4096], text[4] = "";
  char* memory = calloc(PART, 1);
  MPI_File file;
  snprintf(path, sizeof path, "%s/data", folder);
  for (int turn = 0; turn < 3; ++turn) {
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    CHECK(write_until_full(file, turn, memory), "turn %d: never full", turn);
    exchange(100000);
    CHECK(MPI_File_set_size(file, 0) == MPI_SUCCESS, "set_size");
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_write_at_all(file, rank * 4, "abc", 4, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "not usable");
    CHECK(MPI_File_read_at_all(file, rank * 4, text, 4, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS,
          "not usable");
    CHECK(strcmp(text, "abc") == 0, "read '%s'", text);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS, "close");
  }
  free(memory);
}

/* ---- descriptors ---- */

static void allow_descriptors(int more) {
  static struct rlimit before;
  if (before.rlim_cur == 0) getrlimit(RLIMIT_NOFILE, &before);
  struct rlimit limit = before;
  if (more >= 0) {
    const int next = dup(0);
    close(next);
    limit.rlim_cur = (rlim_t)(next + more);
  }
  setrlimit(RLIMIT_NOFILE, &limit);
}

static int try_file(void) {
  MPI_File file;
  const int code =
      MPI_File_open(MPI_COMM_WORLD, "limits.data", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                    MPI_INFO_NULL, &file);
  if (code == MPI_SUCCESS) MPI_File_close(&file);
  return code;
}

static int try_window(void) {
  MPI_Win window;
  void* base;
  const int code = MPI_Win_allocate(PART, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  if (code == MPI_SUCCESS) MPI_Win_free(&window);
  return code;
}

static int try_shared_window(void) {
  MPI_Win window;
  void* base;
  const int code = MPI_Win_allocate_shared(PART, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  if (code == MPI_SUCCESS) MPI_Win_free(&window);
  return code;
}

static int try_communicators(void) {
  MPI_Comm copy = MPI_COMM_NULL, node = MPI_COMM_NULL;
  int code = MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  if (code != MPI_SUCCESS) return code;
  MPI_Barrier(copy);
  MPI_Comm_free(&copy);
  code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  if (code != MPI_SUCCESS) return code;
  int size = 0;
  MPI_Comm_size(node, &size);
  CHECK(size == ranks, "a node of %d ranks, expected %d", size, ranks);
  MPI_Barrier(node);
  MPI_Comm_free(&node);
  return code;
}

static void use_up_descriptors(void) {
  static int (*const things[])(void) = {try_file, try_window, try_shared_window, try_communicators};
  static const char* const names[] = {"file", "window", "shared window", "communicators"};
  for (int more = 0; more < 4; ++more) {
    for (int thing = 0; thing < 4; ++thing) {
      if (rank == 1) allow_descriptors(more);
      const int failed = things[thing]() != MPI_SUCCESS;
      if (rank == 1) allow_descriptors(-1);
      int sum = 0;
      MPI_Allreduce(&failed, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      CHECK(sum == 0 || sum == ranks, "%s: %d of %d ranks failed", names[thing], sum, ranks);
      if (rank == 0 && more == 0) printf("%s: %s\n", names[thing], sum > 0 ? "refused" : "made");
      CHECK(things[thing]() == MPI_SUCCESS, "%s: not usable afterwards", names[thing]);
    }
    exchange(100000);
  }
}

/* ---- spawn ---- */

static void spawn_without_descriptors(int victim) {
  MPI_Comm inter;
  if (rank == victim) allow_descriptors(0);
  MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  MPI_Comm_disconnect(&inter);
}

/* ---- clock ---- */

static void watch_clock(void) {
  double before = MPI_Wtime();
  const double begin = before;
  time_t wall = time(NULL);
  int jumps = 0;
  for (int turn = 0; turn < 200; ++turn) {
    const struct timespec pause = {0, 2000000};
    if (rank == turn % ranks) nanosleep(&pause, NULL);
    exchange(turn * 100);
    MPI_Barrier(MPI_COMM_WORLD);
    const double now = MPI_Wtime();
    const time_t shown = time(NULL);
    CHECK(now >= before, "MPI_Wtime goes back by %g s", before - now);
    CHECK(now - before < 30, "MPI_Wtime jumps by %g s", now - before);
    jumps += shown < wall || shown > wall + 30;
    before = now, wall = shown;
  }
  CHECK(jumps > 10, "the clock did not jump");
  CHECK(before - begin > 0.3, "400 ms of sleep took %g s", before - begin);
}

/* ---- turns ---- */

static void take_turns(double seconds) {
  printf("%d %d\n", rank, (int)getpid());
  fflush(stdout);
  const double begin = MPI_Wtime();
  for (int over = 0; !over;) {
    exchange(1000);
    over = MPI_Wtime() - begin > seconds;
    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_get_parent(&parent);
  program = argv[0];
  const char* what = argc > 1 ? argv[1] : "";
  if (parent != MPI_COMM_NULL) {
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
  }
  if (strcmp(what, "descriptors") == 0) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    use_up_descriptors();
  }
  if (strcmp(what, "full") == 0 && argc > 2) fill(argv[2]);
  if (strcmp(what, "spawn") == 0 && argc > 2) spawn_without_descriptors(atoi(argv[2]));
  if (strcmp(what, "clock") == 0) watch_clock();
  if (strcmp(what, "turns") == 0 && argc > 2) take_turns(atof(argv[2]));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}

/* The program of test_storage.py: storage right | edge BYTES | limit BYTES | full | sparse, then FILE, RUN,
 * SPACE, "all" or "each", and hints as KEY=VALUE.
 *
 * The ranks take turns in the file: RUN bytes each, SPACE bytes between. A block is what one collective call
 * of all ranks writes.
 *
 * right  blocks are written and read, together and each for itself, and come right
 * edge   somebody sees to it that nothing can be written from BYTES on: the call that comes there fails with
 *        MPI_ERR_IO, or whatever class comes after BYTES as in 1000:MPI_ERR_NO_SPACE
 * limit  the same by RLIMIT_FSIZE, which each rank sets for itself
 * full   the file system becomes full: MPI_ERR_NO_SPACE
 * sparse the same, with a file that has its size from the start, but not its room
 *
 * "all": an error must be every rank's; "each": it need only be that of who met it. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../ranks/check.h"

enum { kBlocksMax = 1000, kRankBytes = 200000, kSparseBytes = 100000000 };

static int rank, ranks, all_fail;
static int run_bytes, space_bytes, runs;
static MPI_Offset block_bytes;
static MPI_Info hints;
static char *mine, *got;

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}

#define DONE(call)                                                           \
  do {                                                                       \
    const int done_class = class_of(call);                                   \
    CHECK(done_class == MPI_SUCCESS, "%s gave class %d", #call, done_class); \
  } while (0)

static char letter(int of_rank, int block, int turn) {
  return (char)('a' + (of_rank * 7 + block * 3 + turn) % 26);
}

static MPI_File open_turns(const char* name) {
  MPI_File file;
  MPI_Datatype run, turns;
  DONE(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, hints, &file));
  MPI_Type_contiguous(run_bytes, MPI_BYTE, &run);
  MPI_Type_create_resized(run, 0, (MPI_Aint)(run_bytes + space_bytes) * ranks, &turns);
  MPI_Type_commit(&turns);
  DONE(MPI_File_set_view(file, (MPI_Offset)rank * (run_bytes + space_bytes), MPI_BYTE, turns, "native",
                         MPI_INFO_NULL));
  MPI_Type_free(&run);
  MPI_Type_free(&turns);
  return file;
}

static MPI_Offset place(int block) {
  return (MPI_Offset)block * runs * run_bytes;
}

static int write_block(MPI_File file, int block, int turn) {
  memset(mine, letter(rank, block, turn), (size_t)(runs * run_bytes));
  return MPI_File_write_at_all(file, place(block), mine, runs * run_bytes, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void expect_block(const char* what, int block, int turn) {
  for (int i = 0; i < runs * run_bytes; ++i)
    CHECK(got[i] == letter(rank, block, turn), "%s, block %d, byte %d: '%c', expected '%c'", what, block, i,
          got[i], letter(rank, block, turn));
}

static void read_block(MPI_File file, int block, int turn) {
  MPI_Status status;
  int count = 0;
  memset(got, 0, (size_t)(runs * run_bytes));
  DONE(MPI_File_read_at_all(file, place(block), got, runs * run_bytes, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == runs * run_bytes, "block %d: %d bytes read", block, count);
  expect_block("together", block, turn);
}

/* What lies between the runs is nobody's, and zero. */
static void expect_holes(const char* name) {
  const int bytes = run_bytes + space_bytes;
  char* turn = malloc((size_t)bytes);
  FILE* file = fopen(name, "rb");
  CHECK(file != NULL, "cannot open %s", name);
  while (fread(turn, 1, (size_t)bytes, file) == (size_t)bytes) {
    for (int i = run_bytes; i < bytes; ++i)
      CHECK(turn[i] == 0, "a hole has '%c' %ld bytes before %ld", turn[i], (long)(bytes - i), ftell(file));
  }
  fclose(file);
  free(turn);
}

static void do_right(const char* name) {
  MPI_File file = open_turns(name);
  for (int block = 0; block < 4; ++block) DONE(write_block(file, block, 0));
  for (int block = 0; block < 4; ++block) read_block(file, block, 0);
  memset(mine, letter(rank, 2, 1), (size_t)(runs * run_bytes));
  DONE(MPI_File_write_at(file, place(2), mine, runs * run_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  DONE(MPI_File_sync(file));
  for (int block = 0; block < 4; ++block) {
    DONE(MPI_File_read_at(file, place(block), got, runs * run_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    expect_block("each for itself", block, block == 2);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) expect_holes(name);
  DONE(MPI_File_close(&file));
}

static void limit_files(MPI_Offset bytes) {
  struct rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes < 0 ? limit.rlim_max : (rlim_t)bytes;
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0, "no limit of file sizes");
}

/* Writes block after block until one fails. Those before it stay, and so does the file's use. */
static void meet_edge(const char* name, MPI_Offset first_size, MPI_Offset edge, int class) {
  MPI_File file = open_turns(name);
  DONE(MPI_File_set_size(file, first_size));
  int block = 0, failed = 0, failures = 0;
  for (; block < kBlocksMax; ++block) {
    const int code = write_block(file, block, 0);
    failed = code != MPI_SUCCESS;
    CHECK(!failed || class_of(code) == class, "block %d: class %d, expected %d", block, class_of(code),
          class);
    MPI_Allreduce(&failed, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (failures > 0) break;
    CHECK(edge < 0 || (block + 1) * block_bytes - space_bytes <= edge, "block %d lies beyond the edge",
          block);
  }
  CHECK(failures > 0, "nothing failed");
  CHECK(!all_fail || failures == ranks, "%d of %d ranks have the error", failures, ranks);
  CHECK(edge < 0 || (block + 1) * block_bytes > edge, "block %d failed, before the edge", block);
  CHECK(block > 0, "nothing could be written at all");
  for (int before = 0; before < block; ++before) read_block(file, before, 0);
  if (rank == 0) expect_holes(name);
  DONE(MPI_File_set_size(file, block_bytes / 2));
  DONE(write_block(file, 0, 1));
  read_block(file, 0, 1);
  DONE(MPI_File_close(&file));
}

static int class_named(const char* name) {
  return strcmp(name, "MPI_ERR_NO_SPACE") == 0 ? MPI_ERR_NO_SPACE : MPI_ERR_IO;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* mode = argv[1];
  char** next = argv + 2;
  char* edge = strcmp(mode, "edge") == 0 || strcmp(mode, "limit") == 0 ? *next++ : NULL;
  const char* name = *next++;
  run_bytes = atoi(*next++);
  space_bytes = atoi(*next++);
  all_fail = strcmp(*next++, "all") == 0;
  runs = kRankBytes / run_bytes + 1;
  block_bytes = (MPI_Offset)runs * ranks * (run_bytes + space_bytes);
  mine = malloc((size_t)(runs * run_bytes));
  got = malloc((size_t)(runs * run_bytes));
  MPI_Info_create(&hints);
  for (; *next != NULL; ++next) {
    char* value = strchr(*next, '=');
    *value++ = '\0';
    MPI_Info_set(hints, *next, value);
  }
  if (strcmp(mode, "right") == 0) do_right(name);
  if (strcmp(mode, "full") == 0) meet_edge(name, 0, -1, MPI_ERR_NO_SPACE);
  if (strcmp(mode, "sparse") == 0) meet_edge(name, kSparseBytes, -1, MPI_ERR_NO_SPACE);
  if (edge != NULL) {
    const char* class = strchr(edge, ':');
    const int limits = strcmp(mode, "limit") == 0;
    signal(SIGXFSZ, SIG_IGN);
    if (limits) limit_files(atoll(edge));
    meet_edge(name, 0, atoll(edge), class_named(class != NULL ? class + 1 : ""));
    if (limits) limit_files(-1);
  }
  MPI_Info_free(&hints);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}

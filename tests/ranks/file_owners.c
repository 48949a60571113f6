/* Shared file pointers and locks on ranges of files, which ranks of several nodes ask an owner for: shared
 * and ordered accesses, atomic mode, data sieving beside neighbours, ranks that are not in calls on files.
 * Arguments: WHAT, the name of a file. WHAT is all       everything below but the others; says how many
 * messages went to owners finalize  all ranks but the last one are in MPI_Finalize while that one writes
 *   session   without MPI_Init: the file's own owner serves
 *   die RANK  that rank ends while the others lock ranges */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static int rank, size;
static MPI_Comm world;
static const char* name;

#define DONE(call)                                                                      \
  do {                                                                                  \
    int done_code = call, done_length;                                                  \
    char done_text[MPI_MAX_ERROR_STRING] = "";                                          \
    if (done_code != MPI_SUCCESS) MPI_Error_string(done_code, done_text, &done_length); \
    CHECK(done_code == MPI_SUCCESS, "%s: %s", #call, done_text);                        \
  } while (0)

static MPI_File open_file(MPI_Comm comm, const char* sieving) {
  MPI_File file;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_ds_write", sieving);
  MPI_Info_set(info, "romio_ds_read", sieving);
  DONE(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
  MPI_Info_free(&info);
  return file;
}

/* Each record is written once and read once, by whichever rank. */
static void unordered(void) {
  enum { kRecords = 60 };
  MPI_File file = open_file(world, "automatic");
  const int all = kRecords * size;
  int* const seen = calloc((size_t)all, sizeof *seen);
  MPI_Offset at;
  DONE(MPI_File_set_size(file, 0));
  DONE(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  for (int i = 0; i < kRecords; i++) {
    const int record = rank * kRecords + i;
    DONE(MPI_File_write_shared(file, &record, 1, MPI_INT, MPI_STATUS_IGNORE));
  }
  MPI_Barrier(world);
  DONE(MPI_File_get_position_shared(file, &at));
  CHECK(at == all, "the shared file pointer is at %lld, not %d", (long long)at, all);
  MPI_Barrier(world);
  DONE(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  for (;;) {
    int record = -1, count;
    MPI_Status status;
    DONE(MPI_File_read_shared(file, &record, 1, MPI_INT, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    if (count == 0) break;
    CHECK(record >= 0 && record < all, "record %d", record);
    seen[record]++;
  }
  MPI_Allreduce(MPI_IN_PLACE, seen, all, MPI_INT, MPI_SUM, world);
  for (int i = 0; i < all; i++) CHECK(seen[i] == 1, "record %d was read %d times", i, seen[i]);
  free(seen);
  DONE(MPI_File_close(&file));
}

static void ordered(void) {
  MPI_File file = open_file(world, "automatic");
  int mine[16], got[16];
  DONE(MPI_File_set_size(file, 0));
  DONE(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  for (int round = 0; round < 10; round++) {
    for (int i = 0; i <= rank; i++) mine[i] = 1000 * round + rank;
    DONE(MPI_File_write_ordered(file, mine, rank + 1, MPI_INT, MPI_STATUS_IGNORE));
  }
  DONE(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  for (int round = 0; round < 10; round++) {
    DONE(MPI_File_read_ordered(file, got, rank + 1, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i <= rank; i++) CHECK(got[i] == 1000 * round + rank, "round %d: %d", round, got[i]);
  }
  DONE(MPI_File_close(&file));
}

/* No rank sees half of another one's access, though it is in many pieces. */
static void atomic(void) {
  enum { kPieces = 200, kRounds = 15 };
  MPI_File file = open_file(world, "disable");
  MPI_Datatype holes;
  char mine[kPieces], got[kPieces];
  MPI_Type_create_resized(MPI_CHAR, 0, 5, &holes);
  MPI_Type_commit(&holes);
  DONE(MPI_File_set_view(file, 0, MPI_CHAR, holes, "native", MPI_INFO_NULL));
  DONE(MPI_File_set_atomicity(file, 1));
  for (int round = 0; round < kRounds; round++) {
    memset(mine, 'a' + rank, sizeof mine);
    DONE(MPI_File_write_at(file, 0, mine, sizeof mine, MPI_CHAR, MPI_STATUS_IGNORE));
    DONE(MPI_File_read_at(file, 0, got, sizeof got, MPI_CHAR, MPI_STATUS_IGNORE));
    for (size_t i = 1; i < sizeof got; i++)
      CHECK(got[i] == got[0], "round %d: byte %zu is %c after %c", round, i, got[i], got[0]);
  }
  MPI_Type_free(&holes);
  DONE(MPI_File_close(&file));
}

/* Ranks write back what they have read between their bytes, which their neighbours write at the same time.
 * `comm`: the world, or each rank has opened the file by itself. */
static void sieving(MPI_Comm comm) {
  enum { kBytes = 400, kRounds = 12 };
  MPI_File file = open_file(comm, "enable");
  MPI_Datatype mine;
  unsigned char data[kBytes], got[kBytes];
  MPI_Type_create_resized(MPI_CHAR, 0, size, &mine);
  MPI_Type_commit(&mine);
  DONE(MPI_File_set_view(file, rank, MPI_CHAR, mine, "native", MPI_INFO_NULL));
  for (int round = 0; round < kRounds; round++) {
    memset(data, 1 + (round * size + rank) % 250, sizeof data);
    DONE(MPI_File_write_at(file, 0, data, kBytes, MPI_CHAR, MPI_STATUS_IGNORE));
    DONE(MPI_File_read_at(file, 0, got, kBytes, MPI_CHAR, MPI_STATUS_IGNORE));
    for (int i = 0; i < kBytes; i++) CHECK(got[i] == data[i], "round %d: byte %d is %d", round, i, got[i]);
  }
  MPI_Type_free(&mine);
  DONE(MPI_File_close(&file));
}

/* Each rank in turn waits for the others, which write. */
static void idle(void) {
  MPI_File file = open_file(world, "automatic");
  for (int waiting = 0; waiting < size; waiting++) {
    char word = 0;
    for (int i = 0; i < size - 1 && rank == waiting; i++)
      MPI_Recv(&word, 1, MPI_CHAR, MPI_ANY_SOURCE, 0, world, MPI_STATUS_IGNORE);
    if (rank == waiting) continue;
    for (int i = 0; i < 5; i++) DONE(MPI_File_write_shared(file, &word, 1, MPI_CHAR, MPI_STATUS_IGNORE));
    MPI_Send(&word, 1, MPI_CHAR, waiting, 0, world);
  }
  DONE(MPI_File_close(&file));
}

static MPI_T_pvar_session session_of_counts;
static MPI_T_pvar_handle requests_handle;

static void begin_to_count(void) {
  int provided, index, count;
  DONE(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  DONE(MPI_T_pvar_get_index("io_owner_requests", MPI_T_PVAR_CLASS_COUNTER, &index));
  DONE(MPI_T_pvar_session_create(&session_of_counts));
  DONE(MPI_T_pvar_handle_alloc(session_of_counts, index, NULL, &requests_handle, &count));
  DONE(MPI_T_pvar_start(session_of_counts, requests_handle));
}

/* Of this rank since then. */
static unsigned long requests_to_owners(void) {
  unsigned long value = 0;
  DONE(MPI_T_pvar_read(session_of_counts, requests_handle, &value));
  return value;
}

static void end_counting(void) {
  DONE(MPI_T_pvar_handle_free(session_of_counts, &requests_handle));
  DONE(MPI_T_pvar_session_free(&session_of_counts));
  DONE(MPI_T_finalize());
}

static void all(void) {
  unordered();
  ordered();
  atomic();
  sieving(world);
  sieving(MPI_COMM_SELF);
  idle();
}

/* The last rank writes files of its own, whose owners follow from what they are, while all others end. */
static void write_while_others_finalize(void) {
  enum { kFiles = 12 };
  char own_name[4096];
  const char letter = 'x';
  if (rank != size - 1) return;
  sleep(1);
  for (int i = 0; i < kFiles; i++) {
    MPI_File file;
    snprintf(own_name, sizeof own_name, "%s.%d", name, i);
    DONE(MPI_File_open(MPI_COMM_SELF, own_name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    DONE(MPI_File_write_at(file, 0, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE));
    DONE(MPI_File_close(&file));
  }
  printf("requests to owners: %lu\n", requests_to_owners());
}

static void lock_until_a_rank_ends(int ending) {
  MPI_File file = open_file(world, "automatic");
  const char letter = 'x';
  for (long i = 0;; i++) {
    if (rank == ending && i == 100) abort();
    DONE(MPI_File_write_shared(file, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE));
    DONE(MPI_File_write_at(file, rank, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  }
}

static int run_in_session(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "owners", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &world);
  MPI_Group_free(&group);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  unordered();
  ordered();
  atomic();
  sieving(world);
  idle();
  MPI_Comm_free(&world);
  MPI_Session_finalize(&session);
  if (rank == 0) printf("owners: right\n");
  return 0;
}

int main(int argc, char** argv) {
  const char* what = argc > 2 ? argv[1] : "";
  name = argc > 2 ? argv[2] : "";
  if (strcmp(what, "session") == 0) return run_in_session();
  MPI_Init(&argc, &argv);
  world = MPI_COMM_WORLD;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  begin_to_count();
  if (strcmp(what, "all") == 0) {
    all();
    unsigned long mine = requests_to_owners(), sum = 0;
    MPI_Reduce(&mine, &sum, 1, MPI_UNSIGNED_LONG, MPI_SUM, 0, world);
    if (rank == 0) printf("requests to owners: %lu\nowners: right\n", sum);
  } else if (strcmp(what, "finalize") == 0) {
    write_while_others_finalize();
  } else {
    CHECK(strcmp(what, "die") == 0 && argc == 4, "expected all, finalize, session or die, and a file");
    lock_until_a_rank_ends(atoi(argv[3]));
  }
  end_counting();
  MPI_Finalize();
  return 0;
}

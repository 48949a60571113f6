/* Files through the C interface: views that interleave the ranks, shared and ordered accesses, error
 * handlers, and what is refused. The name of the file comes as the argument. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kCells = 1000 };

static int rank, size, heard_class, heard_null;

static void hear(MPI_File* file, int* code, ...) {
  MPI_Error_class(*code, &heard_class);
  heard_null = *file == MPI_FILE_NULL;
}

#define REFUSED(call, expected)                                                                \
  do {                                                                                         \
    int refused_code = call, refused_class = -1;                                               \
    MPI_Error_class(refused_code, &refused_class);                                             \
    CHECK(refused_class == (expected), #call " gave class %d, not " #expected, refused_class); \
  } while (0)
#define DONE(call) REFUSED(call, MPI_SUCCESS)

/* Cell i of the file belongs to rank i % size and holds i. */
static void interleaved(const char* name) {
  MPI_File file;
  MPI_Datatype mine;
  MPI_Status status;
  int cells[kCells], got[kCells], count;
  DONE(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(size * sizeof(int)), &mine);
  MPI_Type_commit(&mine);
  DONE(MPI_File_set_view(file, (MPI_Offset)(rank * sizeof(int)), MPI_INT, mine, "native", MPI_INFO_NULL));
  for (int i = 0; i < kCells; i++) cells[i] = i * size + rank;
  DONE(MPI_File_write_all(file, cells, kCells, MPI_INT, &status));
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == kCells, "wrote %d", count);
  DONE(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  DONE(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  for (int peer = 0; peer < size; peer++) {
    DONE(MPI_File_read_at(file, (MPI_Offset)peer * kCells, got, kCells, MPI_INT, &status));
    for (int i = 0; i < kCells; i++)
      CHECK(got[i] == peer * kCells + i, "cell %d is %d", peer * kCells + i, got[i]);
  }
  DONE(MPI_File_read_at(file, (MPI_Offset)size * kCells - 3, got, kCells, MPI_INT, &status));
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 3, "at the end of the file %d were read", count);
  MPI_Type_free(&mine);
  DONE(MPI_File_close(&file));
  CHECK(file == MPI_FILE_NULL, "a closed file is not MPI_FILE_NULL");
}

static void shared(const char* name) {
  MPI_File file;
  MPI_Offset at;
  MPI_Status status;
  MPI_Request request;
  int value, *all = malloc(sizeof(int) * (size_t)size * 100), *seen = calloc((size_t)size, sizeof(int));
  DONE(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  DONE(MPI_File_set_size(file, 0));
  DONE(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  for (int i = 0; i < 100; i++) {
    DONE(MPI_File_iwrite_shared(file, &rank, 1, MPI_INT, &request));
    DONE(MPI_Wait(&request, &status));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  DONE(MPI_File_get_position_shared(file, &at));
  CHECK(at == 100 * size, "the shared file pointer is at %lld", (long long)at);
  DONE(MPI_File_read_at_all(file, 0, all, 100 * size, MPI_INT, &status));
  for (int i = 0; i < 100 * size; i++) seen[all[i]]++;
  for (int i = 0; i < size; i++) CHECK(seen[i] == 100, "rank %d was seen %d times", i, seen[i]);
  DONE(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  for (int i = 0; i <= rank; i++) all[i] = rank;
  DONE(MPI_File_write_ordered(file, all, rank + 1, MPI_INT, &status));
  DONE(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  DONE(MPI_File_read_ordered_begin(file, all, rank + 1, MPI_INT));
  DONE(MPI_File_read_ordered_end(file, all, &status));
  for (int i = 0; i <= rank; i++) CHECK(all[i] == rank, "in order: %d of rank %d", all[i], rank);
  MPI_Get_count(&status, MPI_INT, &value);
  CHECK(value == rank + 1, "in order: read %d", value);
  DONE(MPI_File_close(&file));
  free(all);
  free(seen);
}

/* In atomic mode no rank sees half of another's access, though it is in many pieces. */
static void atomic(const char* name) {
  MPI_File file;
  MPI_Datatype holes;
  char mine[300], got[300];
  DONE(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  MPI_Type_create_resized(MPI_CHAR, 0, 5, &holes);
  MPI_Type_commit(&holes);
  DONE(MPI_File_set_view(file, 0, MPI_CHAR, holes, "native", MPI_INFO_NULL));
  DONE(MPI_File_set_atomicity(file, 1));
  memset(mine, 'a' + rank, sizeof mine);
  for (int round = 0; round < 20; round++) {
    DONE(MPI_File_write_at(file, 0, mine, sizeof mine, MPI_CHAR, MPI_STATUS_IGNORE));
    DONE(MPI_File_read_at(file, 0, got, sizeof got, MPI_CHAR, MPI_STATUS_IGNORE));
    for (size_t i = 1; i < sizeof got; i++)
      CHECK(got[i] == got[0], "byte %zu is %c after %c", i, got[i], got[0]);
  }
  MPI_Type_free(&holes);
  DONE(MPI_File_close(&file));
}

static void refusals(const char* name) {
  MPI_File file = MPI_FILE_NULL;
  MPI_Errhandler handler, found;
  MPI_Status status;
  MPI_Request request;
  char text[MPI_MAX_ERROR_STRING];
  int value = 1, length, code;
  code = MPI_File_open(MPI_COMM_WORLD, "/nonexistent/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  MPI_Error_string(code, text, &length);
  CHECK(strstr(text, "MPI_File_open") && strstr(text, "/nonexistent/file") && strstr(text, "No such file"),
        "%s", text);
  REFUSED(MPI_File_delete("/nonexistent/file", MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  REFUSED(MPI_File_sync(MPI_FILE_NULL), MPI_ERR_FILE);

  MPI_File_create_errhandler(hear, &handler);
  DONE(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
  REFUSED(MPI_File_open(MPI_COMM_WORLD, "/nonexistent/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
          MPI_ERR_NO_SUCH_FILE);
  CHECK(heard_class == MPI_ERR_NO_SUCH_FILE && heard_null, "the handler of MPI_FILE_NULL heard %d",
        heard_class);
  DONE(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  DONE(MPI_File_get_errhandler(file, &found));
  CHECK(found == handler, "a new file did not get the handler of MPI_FILE_NULL");
  MPI_Errhandler_free(&found);
  DONE(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  heard_class = heard_null = 0;
  REFUSED(MPI_File_write_at(file, 0, &value, 1, MPI_INT, &status), MPI_ERR_READ_ONLY);
  CHECK(heard_class == MPI_ERR_READ_ONLY && !heard_null, "the file's handler heard %d", heard_class);
  REFUSED(MPI_File_read_at(file, 0, &value, -1, MPI_INT, &status), MPI_ERR_COUNT);
  CHECK(heard_class == MPI_ERR_COUNT, "the file's handler heard %d of a bad count", heard_class);
  REFUSED(MPI_File_set_view(file, -2, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
  REFUSED(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL),
          MPI_ERR_ARG);
  REFUSED(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "nothing", MPI_INFO_NULL),
          MPI_ERR_UNSUPPORTED_DATAREP);
  DONE(MPI_File_iread_at(file, 0, &value, 1, MPI_INT, &request));
  DONE(MPI_Wait(&request, &status));
  CHECK(value == 0, "after all that the file holds %d", value);
  MPI_Errhandler_free(&handler);
  DONE(MPI_File_close(&file));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(argc == 2, "expected the name of a file");
  interleaved(argv[1]);
  refusals(argv[1]);
  shared(argv[1]);
  atomic(argv[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    DONE(MPI_File_delete(argv[1], MPI_INFO_NULL));
    printf("files: right\n");
  }
  MPI_Finalize();
  return 0;
}

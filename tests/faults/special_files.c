/* What is no plain file, by every call that may meet it: one line for each call, "CALL CLASS", printed by
 * rank 0; all ranks must have the same class of the same call. Arguments: the name, then letters: r, w
 * (access), c (create), x (exclusive), s (sequential), a (append), d (delete on close). The name @LONG is one
 * of 6000 characters. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;

static int class_of(const char* call, int code) {
  int mine = 0, least, most;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_class(code, &mine);
  MPI_Error_string(mine, text, &length);
  MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (least != most) MPI_Abort(MPI_COMM_WORLD, 1);
  if (rank == 0) printf("%s %.*s\n", call, (int)strcspn(text, ":"), text);
  return mine;
}

static int wait_for(MPI_Request* request, int code) {
  return code != MPI_SUCCESS ? code : MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void write_all(MPI_File file) {
  char data[100] = "x";
  MPI_Request request;
  const MPI_Offset at = 100 * rank;
  class_of("write_at", MPI_File_write_at(file, at, data, 100, MPI_CHAR, MPI_STATUS_IGNORE));
  class_of("write_at_all", MPI_File_write_at_all(file, at, data, 100, MPI_CHAR, MPI_STATUS_IGNORE));
  class_of("iwrite_at", wait_for(&request, MPI_File_iwrite_at(file, at, data, 100, MPI_CHAR, &request)));
  class_of("iwrite_at_all",
           wait_for(&request, MPI_File_iwrite_at_all(file, at, data, 100, MPI_CHAR, &request)));
  class_of("write", MPI_File_write(file, data, 100, MPI_CHAR, MPI_STATUS_IGNORE));
}

static void read_all(MPI_File file) {
  char data[100];
  MPI_Request request;
  class_of("read_at", MPI_File_read_at(file, 0, data, 100, MPI_CHAR, MPI_STATUS_IGNORE));
  class_of("read_at_all", MPI_File_read_at_all(file, 0, data, 100, MPI_CHAR, MPI_STATUS_IGNORE));
  class_of("iread_at", wait_for(&request, MPI_File_iread_at(file, 0, data, 100, MPI_CHAR, &request)));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* letters = argc > 2 ? argv[2] : "";
  static char long_name[6000];
  memset(long_name, 'n', sizeof long_name - 1);
  const char* name = strcmp(argv[1], "@LONG") == 0 ? long_name : argv[1];
  const int reads = strchr(letters, 'r') != NULL, writes = strchr(letters, 'w') != NULL;
  const int sequential = strchr(letters, 's') != NULL;
  int amode = reads && writes ? MPI_MODE_RDWR : writes ? MPI_MODE_WRONLY : MPI_MODE_RDONLY;
  if (strchr(letters, 'c')) amode |= MPI_MODE_CREATE;
  if (strchr(letters, 'x')) amode |= MPI_MODE_EXCL;
  if (sequential) amode |= MPI_MODE_SEQUENTIAL;
  if (strchr(letters, 'a')) amode |= MPI_MODE_APPEND;
  if (strchr(letters, 'd')) amode |= MPI_MODE_DELETE_ON_CLOSE;
  MPI_File file;
  if (class_of("open", MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file)) == MPI_SUCCESS) {
    char data[100] = "y";
    MPI_Offset size;
    if (!sequential && writes) write_all(file);
    if (!sequential && reads) read_all(file);
    if (writes) {
      class_of("write_shared", MPI_File_write_shared(file, data, 100, MPI_CHAR, MPI_STATUS_IGNORE));
      class_of("write_ordered", MPI_File_write_ordered(file, data, 100, MPI_CHAR, MPI_STATUS_IGNORE));
      class_of("sync", MPI_File_sync(file));
      class_of("preallocate", MPI_File_preallocate(file, 5000));
      class_of("set_size", MPI_File_set_size(file, 5));
    } else {
      class_of("read_shared", MPI_File_read_shared(file, data, 100, MPI_CHAR, MPI_STATUS_IGNORE));
    }
    class_of("get_size", MPI_File_get_size(file, &size));
    class_of("close", MPI_File_close(&file));
  }
  MPI_Finalize();
  return 0;
}

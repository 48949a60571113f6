/* Opens a file with hints, writes it collectively and reads it back, and prints what MPI_File_get_info says,
 * as lines "key = value" of rank 0; what the other ranks are told must be the same, but for the keys of
 * independent access, which they print as "rank 1: key = value".
 *
 *   io_hints FILE [WHO][WHEN]key=value...
 *
 * WHO is "@2:" for rank 2 alone; WHEN is "+" for MPI_File_set_info and "%" for MPI_File_set_view, both before
 * the accesses. Words instead of hints: "alone": the ranks also write independently; "reversed": the
 * file's ranks are those of the job in reverse, and all ranks mean these. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kCells = 5000 };

static int rank, size;
static MPI_Comm comm;

static MPI_Info hints_for(char** words, int count, char when) {
  MPI_Info info;
  MPI_Info_create(&info);
  for (int i = 0; i < count; i++) {
    char word[2000], *key = word;
    snprintf(word, sizeof word, "%s", words[i]);
    if (key[0] == '@') {
      if (strtol(key + 1, &key, 10) != rank) continue;
      key++;
    }
    const char marked = *key == '+' || *key == '%' ? *key++ : ' ';
    char* const value = strchr(key, '=');
    if (value == NULL || marked != when) continue;
    *value = '\0';
    MPI_Info_set(info, key, value + 1);
  }
  return info;
}

static int is_own(const char* key) {
  return strncmp(key, "romio_ds_", 9) == 0 || strncmp(key, "ind_", 4) == 0 ||
         strcmp(key, "tasuki_io_uring") == 0;
}

static void tell(MPI_File file) {
  MPI_Info used;
  int keys;
  MPI_File_get_info(file, &used);
  MPI_Info_get_nkeys(used, &keys);
  for (int turn = 0; turn < size; turn++) {
    for (int i = 0; i < keys; i++) {
      char key[MPI_MAX_INFO_KEY + 1], value[1100] = "", first[1100];
      int flag, bytes = sizeof value;
      MPI_Info_get_nthkey(used, i, key);
      MPI_Info_get_string(used, key, &bytes, value, &flag);
      CHECK(flag, "%s is told and has no value", key);
      memcpy(first, value, sizeof value);
      MPI_Bcast(first, sizeof first, MPI_CHAR, 0, comm);
      CHECK(is_own(key) || strcmp(first, value) == 0, "%s = \"%s\", but \"%s\" at rank 0", key, value, first);
      if (rank == turn && rank == 0) printf("%s = %s\n", key, value);
      if (rank == turn && rank > 0 && is_own(key)) printf("rank %d: %s = %s\n", rank, key, value);
    }
    fflush(stdout);
    MPI_Barrier(comm);
  }
  MPI_Info_free(&used);
}

/* How many of this process's descriptors are of the file. */
static int descriptors_of(const char* name) {
  char wanted[4096], path[64], found[4096];
  int count = 0;
  if (realpath(name, wanted) == NULL) return -1;
  for (int fd = 0; fd < 256; fd++) {
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const ssize_t bytes = readlink(path, found, sizeof found - 1);
    if (bytes < 0) continue;
    found[bytes] = '\0';
    count += strcmp(found, wanted) == 0;
  }
  return count;
}

int main(int argc, char** argv) {
  MPI_File file;
  MPI_Datatype mine;
  MPI_Status status;
  int count, cells[kCells], got[kCells], alone = 0, reversed = 0;
  MPI_Init(&argc, &argv);
  CHECK(argc >= 2, "the name of a file is missing");
  char** const words = argv + 2;
  const int number = argc - 2;
  for (int i = 0; i < number; i++) {
    alone |= strcmp(words[i], "alone") == 0;
    reversed |= strcmp(words[i], "reversed") == 0;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, 0, reversed ? -rank : rank, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);

  MPI_Info opening = hints_for(words, number, ' '), setting = hints_for(words, number, '+'),
           viewing = hints_for(words, number, '%');
  int code = MPI_File_open(comm, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, opening, &file);
  CHECK(code == MPI_SUCCESS, "MPI_File_open gave %d", code);
  MPI_File_set_info(file, setting);
  MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(size * sizeof(int)), &mine);
  MPI_Type_commit(&mine);
  MPI_File_set_view(file, (MPI_Offset)(rank * sizeof(int)), MPI_INT, mine, "native", viewing);
  for (int i = 0; i < kCells; i++) cells[i] = i * size + rank;
  code = MPI_File_write_at_all(file, 0, cells, kCells, MPI_INT, &status);
  CHECK(code == MPI_SUCCESS, "MPI_File_write_at_all gave %d", code);
  MPI_File_sync(file);
  MPI_Barrier(comm);
  MPI_File_read_at_all(file, 0, got, kCells, MPI_INT, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == kCells && memcmp(got, cells, sizeof cells) == 0, "read %d cells, or others", count);
  printf("rank %d: descriptors = %d\n", rank, descriptors_of(argv[1]));
  fflush(stdout);
  if (alone) {
    memset(got, 0, sizeof got);
    MPI_File_write_at(file, 0, cells, kCells, MPI_INT, &status);
    MPI_File_read_at(file, 0, got, kCells, MPI_INT, &status);
    CHECK(memcmp(got, cells, sizeof cells) == 0, "other cells were read alone");
    CHECK(descriptors_of(argv[1]) == 1, "%d descriptors of the file", descriptors_of(argv[1]));
  }
  tell(file);
  MPI_Type_free(&mine);
  MPI_Info_free(&opening);
  MPI_Info_free(&setting);
  MPI_Info_free(&viewing);
  MPI_File_close(&file);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}

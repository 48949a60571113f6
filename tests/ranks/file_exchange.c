/* Collective access in two phases, by messages: regions of the ranks in turn, with holes that keep what they
 * held, written and read back by many settings of buffers, aggregators and orders; reads of the same bytes by
 * all ranks, beyond the end of the file. Against independent access by rank 0. The name of the file comes as
 * the argument. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kRegionsMax = 700 };

static int rank, size;
static const char* name;

#define DONE(call)                                                                      \
  do {                                                                                  \
    int done_code = call;                                                               \
    char done_text[MPI_MAX_ERROR_STRING] = "";                                          \
    int done_length;                                                                    \
    if (done_code != MPI_SUCCESS) MPI_Error_string(done_code, done_text, &done_length); \
    CHECK(done_code == MPI_SUCCESS, "%s: %s", #call, done_text);                        \
  } while (0)

/* Region i of rank r lies at (i * size + r) * (region + space). */
typedef struct {
  int region, space, regions; /* bytes, bytes, of each rank; the last rank has half of them */
  const char *buffer, *aggregators, *placement, *order, *exchange;
} Case;

static int regions_of(const Case* now, int of) {
  return of == size - 1 ? now->regions / 2 : now->regions;
}
static char value_at(long long offset) {
  return (char)(1 + (offset * 31 + offset / 253) % 120);
}
static char old_at(long long offset) {
  return (char)-(1 + offset % 100);
}

static MPI_Info hints_of(const Case* now) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_Info_set(info, "romio_cb_read", "enable");
  MPI_Info_set(info, "cb_buffer_size", now->buffer);
  MPI_Info_set(info, "cb_nodes", now->aggregators);
  MPI_Info_set(info, "tasuki_io_aggregators", now->placement);
  MPI_Info_set(info, "tasuki_io_order", now->order);
  MPI_Info_set(info, "tasuki_io_exchange", now->exchange);
  return info;
}

/* Whether the byte at `offset` is some rank's. */
static int is_written(const Case* now, long long offset) {
  const long long slot = offset / (now->region + now->space);
  return offset % (now->region + now->space) < now->region &&
         slot / size < regions_of(now, (int)(slot % size));
}

static void check_content(const Case* now, long long bytes, long long before) {
  MPI_File file;
  MPI_Status status;
  MPI_Offset length;
  char* all = malloc((size_t)bytes + 1);
  int count;
  long long end = 0;
  for (long long i = 0; i < bytes; i++)
    if (is_written(now, i)) end = i + 1;
  DONE(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  DONE(MPI_File_get_size(file, &length));
  CHECK(length == (end > before ? end : before), "the file has %lld bytes, expected %lld", (long long)length,
        end > before ? end : before);
  DONE(MPI_File_read_at(file, 0, all, (int)bytes, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  for (long long i = 0; i < count; i++) {
    const char expected = is_written(now, i) ? value_at(i) : i < before ? old_at(i) : 0;
    CHECK(all[i] == expected, "order %s, buffer %s: byte %lld is %d, expected %d", now->order, now->buffer, i,
          all[i], expected);
  }
  DONE(MPI_File_close(&file));
  free(all);
}

static void prepare(long long before) {
  MPI_File file;
  MPI_Status status;
  char* old = malloc((size_t)before + 1);
  for (long long i = 0; i < before; i++) old[i] = old_at(i);
  DONE(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
  DONE(MPI_File_set_size(file, 0));
  DONE(MPI_File_write_at(file, 0, old, (int)before, MPI_BYTE, &status));
  DONE(MPI_File_close(&file));
  free(old);
}

/* `gap`: bytes of memory between regions; with some the memory is not dense. */
static void write_and_read(const Case* now, int gap) {
  const int own = regions_of(now, rank), step = now->region + gap;
  const long long cell = now->region + now->space, bytes = cell * size * now->regions;
  const long long before = bytes / 3;
  char* memory = malloc((size_t)step * (size_t)now->regions + 1);
  MPI_Datatype in_memory, in_file, region;
  MPI_Info info = hints_of(now);
  MPI_File file;
  MPI_Status status;
  int count;
  if (rank == 0) prepare(before);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_contiguous(now->region, MPI_BYTE, &region);
  MPI_Type_create_resized(region, 0, step, &in_memory);
  MPI_Type_create_resized(region, 0, cell * size, &in_file);
  MPI_Type_commit(&in_memory);
  MPI_Type_commit(&in_file);
  for (int i = 0; i < own; i++)
    for (int k = 0; k < now->region; k++)
      memory[i * step + k] = value_at(((long long)i * size + rank) * cell + k);
  DONE(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, info, &file));
  DONE(MPI_File_set_view(file, rank * cell, MPI_BYTE, in_file, "native", info));
  DONE(MPI_File_write_all(file, memory, own, in_memory, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == own * now->region, "wrote %d bytes", count);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) check_content(now, bytes, before);
  memset(memory, 77, (size_t)step * (size_t)now->regions + 1);
  DONE(MPI_File_read_at_all(file, 0, memory, own, in_memory, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == own * now->region, "read %d bytes", count);
  for (int i = 0; i < own; i++)
    for (int k = 0; k < step && i * step + k < own * step; k++) {
      const char expected = k < now->region ? value_at(((long long)i * size + rank) * cell + k) : 77;
      CHECK(memory[i * step + k] == expected, "region %d: byte %d is %d, expected %d", i, k,
            memory[i * step + k], expected);
    }
  DONE(MPI_File_close(&file));
  MPI_Info_free(&info);
  MPI_Type_free(&region);
  MPI_Type_free(&in_memory);
  MPI_Type_free(&in_file);
  free(memory);
}

/* Cells of 8 bytes belong to any rank or to none, as a hash says: each rank has more blocks than a view may
 * have that is told to all at once. */
enum { kCellsOfRank = 72000 };

static int owner_of(int cell) {
  return (int)((unsigned)cell * 2654435761u >> 8) % (size + 1);
}

static void write_and_read_cells(const Case* now) {
  const int total = kCellsOfRank * (size + 1);
  int* cells = malloc(sizeof(int) * (size_t)total);
  char *mine = malloc((size_t)total * 8), *all = malloc((size_t)total * 8);
  int number = 0, count;
  MPI_Datatype view;
  MPI_Info info = hints_of(now);
  MPI_File file;
  MPI_Status status;
  for (int cell = 0; cell < total; cell++)
    if (owner_of(cell) == rank) cells[number++] = cell * 8;
  for (int i = 0; i < number * 8; i++) mine[i] = value_at(cells[i / 8] + i % 8);
  if (rank == 0) prepare(total * 4);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_create_indexed_block(number, 8, cells, MPI_BYTE, &view);
  MPI_Type_commit(&view);
  DONE(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, info, &file));
  DONE(MPI_File_set_view(file, 0, MPI_BYTE, view, "native", info));
  DONE(MPI_File_write_all(file, mine, number * 8, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == number * 8, "wrote %d bytes", count);
  memset(all, 77, (size_t)total * 8);
  DONE(MPI_File_read_at_all(file, 8, all, number * 8 - 8, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == number * 8 - 8, "read %d bytes", count);
  CHECK(memcmp(all, mine + 8, (size_t)count) == 0, "order %s: the cells are not what was written",
        now->order);
  DONE(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", info));
  DONE(MPI_File_read_at_all(file, 0, all, total * 8, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  for (int i = 0; i < count; i++) {
    const char expected = owner_of(i / 8) < size ? value_at(i) : i < total * 4 ? old_at(i) : 0;
    CHECK(all[i] == expected, "order %s: byte %d of the cells is %d, expected %d", now->order, i, all[i],
          expected);
  }
  DONE(MPI_File_close(&file));
  MPI_Info_free(&info);
  MPI_Type_free(&view);
  free(cells);
  free(mine);
  free(all);
}

/* Every rank reads the whole file and asks for more. */
static void read_the_same(const Case* now) {
  const int bytes = 50000, beyond = 3000;
  char* got = malloc((size_t)(bytes + beyond));
  MPI_Info info = hints_of(now);
  MPI_File file;
  MPI_Status status;
  int count;
  if (rank == 0) prepare(bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  memset(got, 77, (size_t)(bytes + beyond));
  DONE(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, info, &file));
  DONE(MPI_File_read_all(file, got, bytes + beyond, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == bytes, "read %d bytes, expected %d", count, bytes);
  for (int i = 0; i < bytes + beyond; i++)
    CHECK(got[i] == (i < bytes ? old_at(i) : 77), "byte %d is %d", i, got[i]);
  DONE(MPI_File_close(&file));
  MPI_Info_free(&info);
  free(got);
}

int main(int argc, char** argv) {
  static const char* const orders[] = {"rank", "pairwise", "nd_shift", "nd_rank_shift", "weighted"};
  static const char* const buffers[] = {"4096", "20000", "1048576"};
  static const char* const aggregators[] = {"1", "2", "100"};
  static const struct {
    int region, space, regions;
  } shapes[] = {{64, 0, kRegionsMax}, {64, 64, 300}, {3744, 256, 20}, {1, 2, 500}, {30000, 0, 4}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(argc == 2, "expected the name of a file");
  name = argv[1];
  int turn = 0;
  for (int order = 0; order < 5; order++)
    for (int shape = 0; shape < 5; shape++, turn++) {
      const Case now = {shapes[shape].region,
                        shapes[shape].space,
                        shapes[shape].regions,
                        buffers[turn % 3],
                        aggregators[turn / 3 % 3],
                        turn % 2 == 0 ? "block" : "round_robin",
                        orders[order],
                        turn % 4 == 1 ? "automatic" : "messages"};
      write_and_read(&now, turn % 2 == 0 ? 0 : 5);
      if (shape == 0) read_the_same(&now);
      if (shape == 1) {
        Case cells = now;
        cells.buffer = order == 0 ? "200000" : "1048576";
        write_and_read_cells(&cells);
      }
    }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    DONE(MPI_File_delete(name, MPI_INFO_NULL));
    printf("file_exchange: right\n");
  }
  MPI_Finalize();
  return 0;
}

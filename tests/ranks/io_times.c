/* Collective accesses whose phases mpiexec --io-times records: FILE END [HOW].
 *
 * Ranks write, then read, a file of interleaved blocks, through aggregators unless HOW is "disable", and rank
 * 0 prints what MPI_T has counted of all ranks meanwhile. END: "well"; "abort" or "kill": rank 1 ends so
 * after the file was closed; "open": the file is still open at MPI_Finalize. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kBlockBytes = 100, kBlocks = 1000, kBytes = kBlocks * kBlockBytes };

static const char* const kNames[] = {"io_collective_accesses", "io_two_phase_accesses",     "io_cycles",
                                     "io_read_bytes",          "io_exchange_bytes",         "io_write_bytes",
                                     "io_read_time",           "io_exchange_time",          "io_write_time",
                                     "io_independent_writes",  "io_independent_write_bytes"};
enum { kVariables = sizeof kNames / sizeof *kNames };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[kVariables];
static int is_time[kVariables];

static void begin_counting(void) {
  int provided, total, count;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_get_num(&total);
  int found = 0;
  for (int index = 0; index < total; ++index) {
    char name[128];
    int length = sizeof name, class;
    MPI_T_pvar_get_info(index, name, &length, NULL, &class, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    for (int number = 0; number < kVariables; ++number) {
      if (strcmp(name, kNames[number]) != 0) continue;
      MPI_T_pvar_handle_alloc(session, index, NULL, &handles[number], &count);
      MPI_T_pvar_start(session, handles[number]);
      is_time[number] = class == MPI_T_PVAR_CLASS_TIMER;
      ++found;
    }
  }
  CHECK(found == kVariables, "%d variables", found);
}

static void print_counts(int rank) {
  for (int number = 0; number < kVariables; ++number) {
    unsigned long whole = 0;
    double value = 0, sum = 0;
    MPI_T_pvar_read(session, handles[number], is_time[number] ? (void*)&value : (void*)&whole);
    if (!is_time[number]) value = (double)whole;
    MPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%s %.9f\n", kNames[number], sum);
  }
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* end = argv[2];
  const char* how = argc > 3 ? argv[3] : "enable";
  begin_counting();

  MPI_Info hints;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "romio_cb_write", how);
  MPI_Info_set(hints, "romio_cb_read", how);
  MPI_Info_set(hints, "cb_buffer_size", "65536");
  MPI_Info_set(hints, "cb_nodes", "2");
  MPI_Info_set(hints, "tasuki_io_uring", "disable");
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, hints, &file);
  MPI_Info_free(&hints);
  MPI_Datatype blocks_of_one;
  MPI_Type_vector(kBlocks, kBlockBytes, kBlockBytes * size, MPI_BYTE, &blocks_of_one);
  MPI_Type_commit(&blocks_of_one);
  MPI_File_set_view(file, (MPI_Offset)rank * kBlockBytes, MPI_BYTE, blocks_of_one, "native", MPI_INFO_NULL);
  MPI_Type_free(&blocks_of_one);
  char* data = malloc(kBytes);
  memset(data, 'a' + rank, kBytes);
  MPI_File_write_all(file, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  memset(data, 0, kBytes);
  MPI_File_read_at_all(file, 0, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  for (int i = 0; i < kBytes; ++i) CHECK(data[i] == 'a' + rank, "byte %d is %d", i, data[i]);
  MPI_File_write_at(file, 0, data, kBytes / 2, MPI_BYTE, MPI_STATUS_IGNORE);
  free(data);
  if (strcmp(end, "open") != 0) MPI_File_close(&file);

  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1 && strcmp(end, "kill") == 0) raise(SIGKILL);
  if (rank == 1 && strcmp(end, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  print_counts(rank);
  MPI_Finalize();
  return 0;
}

/* Preloaded into mbl: what DISTURB names happens, and the program has to notice. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int is_wanted(const char* name) {
  const char* wanted = getenv("DISTURB");
  return wanted && strcmp(wanted, name) == 0;
}

static int own_rank(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/* The MPI has one thread at a time. */
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  if (is_wanted("serialized")) *provided = MPI_THREAD_SERIALIZED;
  return code;
}

/* The last byte of what is received is another one; after the first message: only while times are taken. */
int MPI_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status* status) {
  static int calls = 0;
  const int code = PMPI_Recv(buffer, count, type, source, tag, comm, status);
  if (count > 0 && type == MPI_BYTE && own_rank() == 1) {
    if (is_wanted("wrong") || (is_wanted("wrong_later") && ++calls > 1)) ((char*)buffer)[count - 1] ^= 1;
  }
  return code;
}

/* Says once that rank 0 sends data in each cache line of which 1.0 was written. */
int MPI_Send(const void* buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm) {
  static int said = 0;
  const double written = 1.0;
  int lines = 0;
  for (int at = 0; at + 8 <= count && type == MPI_BYTE; at += 64) {
    if (memcmp((const char*)buffer + at, &written, sizeof written) == 0) ++lines;
  }
  if (is_wanted("lines") && own_rank() == 0 && count >= 4096 && lines == count / 64 && !said) {
    said = 1;
    fputs("each line is written\n", stderr);
  }
  return PMPI_Send(buffer, count, type, target, tag, comm);
}

/* Rank 1 is told of every fifth begin, and then not there for two milliseconds; or of the fifteenth, and then
 * not there for 150; or after each for 30, which is longer than mbl lets it begin ahead. */
int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  static int calls = 0;
  const int code = PMPI_Bcast(buffer, count, type, root, comm);
  const struct timespec pause = {0, 2000000}, long_pause = {0, 150000000};
  const struct timespec always_pause = {0, 30000000};
  if (type != MPI_DOUBLE || own_rank() != 1) return code;
  ++calls;
  if (is_wanted("late") && calls % 5 == 0) nanosleep(&pause, 0);
  if (is_wanted("always_late")) nanosleep(&always_pause, 0);
  if (is_wanted("late_once") && calls == 15) nanosleep(&long_pause, 0);
  return code;
}

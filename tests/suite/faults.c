/* Preloaded into mbl: the call that FAULT names goes wrong, and mbl has to notice. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int is_wrong(const char* name) {
  const char* fault = getenv("FAULT");
  return fault && strcmp(fault, name) == 0;
}

/* The last element does not arrive. */
int MPI_Put(const void* origin, int count, MPI_Datatype type, int target, MPI_Aint place, int target_count,
            MPI_Datatype target_type, MPI_Win win) {
  const int less = is_wrong("put");
  return PMPI_Put(origin, count - less, type, target, place, target_count - less, target_type, win);
}

/* Everything is added twice. */
int MPI_Accumulate(const void* origin, int count, MPI_Datatype type, int target, MPI_Aint place,
                   int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win) {
  if (is_wrong("accumulate"))
    PMPI_Accumulate(origin, count, type, target, place, target_count, target_type, op, win);
  return PMPI_Accumulate(origin, count, type, target, place, target_count, target_type, op, win);
}

/* Nothing is swapped. */
int MPI_Compare_and_swap(const void* origin, const void* compare, void* result, MPI_Datatype type, int target,
                         MPI_Aint place, MPI_Win win) {
  if (is_wrong("compare_and_swap"))
    return PMPI_Fetch_and_op(origin, result, type, target, place, MPI_NO_OP, win);
  return PMPI_Compare_and_swap(origin, compare, result, type, target, place, win);
}

/* Rank 1 writes where the file begins. */
int MPI_File_write_at_all(MPI_File file, MPI_Offset offset, const void* buffer, int count, MPI_Datatype type,
                          MPI_Status* status) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (is_wrong("write_at_all") && rank == 1) offset += 1;
  return PMPI_File_write_at_all(file, offset, buffer, count, type, status);
}

/* The first byte comes out wrong, or the call is not there. */
int MPI_File_read_all(MPI_File file, void* buffer, int count, MPI_Datatype type, MPI_Status* status) {
  if (is_wrong("lacks_read_all")) return MPI_ERR_UNSUPPORTED_OPERATION;
  const int code = PMPI_File_read_all(file, buffer, count, type, status);
  if (is_wrong("read_all")) *(unsigned char*)buffer ^= 1;
  return code;
}

/* Calls of a collective that do not fit together, under TASUKI_CHECK: the last rank does something else than
 * the others. Every rank prints the text of its error, then all add up how many there were. Arguments: the
 * case. */
#include <string.h>

#include "check.h"

static int last, rank, size;

/* Persistent: the last rank sends one int too many to rank 0. */
static int alltoallv(void) {
  int counts[8], more[8], places[8], out[16] = {0}, in[16];
  for (int i = 0; i < 8; ++i) counts[i] = more[i] = 1, places[i] = 2 * i;
  more[0] = 2;
  MPI_Request request;
  return MPI_Alltoallv_init(out, last ? more : counts, places, MPI_INT, in, counts, places, MPI_INT,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &request);
}

/* Between the even ranks and the odd ones: the last rank takes another one for the root. */
static int between(void) {
  MPI_Comm local, inter;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &inter);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  int data = 0, root = last ? 1 : 0;
  if (rank % 2 == 0) root = rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  const int code = MPI_Bcast(&data, 1, MPI_INT, root, inter);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&local);
  return code;
}

static int call(const char* what) {
  int data[8] = {0}, out[8] = {0};
  MPI_Request request;
  if (strcmp(what, "root") == 0) return MPI_Bcast(data, 8, MPI_INT, last ? size - 1 : 0, MPI_COMM_WORLD);
  if (strcmp(what, "function") == 0)
    return last ? MPI_Barrier(MPI_COMM_WORLD) : MPI_Bcast(data, 8, MPI_INT, 0, MPI_COMM_WORLD);
  if (strcmp(what, "count") == 0) return MPI_Bcast(data, last ? 7 : 8, MPI_INT, 0, MPI_COMM_WORLD);
  if (strcmp(what, "op") == 0)
    return MPI_Allreduce(data, out, 8, MPI_INT, last ? MPI_MIN : MPI_SUM, MPI_COMM_WORLD);
  if (strcmp(what, "type") == 0)
    return MPI_Reduce(data, out, 8, last ? MPI_FLOAT : MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (strcmp(what, "dup") == 0) {
    MPI_Comm copy = MPI_COMM_NULL;
    return last ? MPI_Barrier(MPI_COMM_WORLD) : MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  }
  if (strcmp(what, "nonblocking") == 0) {
    MPI_Ibcast(data, 8, MPI_INT, last ? size - 1 : 0, MPI_COMM_WORLD, &request);
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (strcmp(what, "alltoallv") == 0) return alltoallv();
  if (strcmp(what, "between") == 0) return between();
  CHECK(strcmp(what, "nothing") == 0, "unknown case %s", what);
  return MPI_Bcast(data, 8, MPI_INT, 0, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  last = rank == size - 1;
  if (argc > 2) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code = call(argv[1]);
  char text[MPI_MAX_ERROR_STRING] = "no error";
  int length;
  if (code != MPI_SUCCESS) MPI_Error_string(code, text, &length);
  printf("%d: %s\n", rank, text);
  int one = code != MPI_SUCCESS, errors = 0;
  MPI_Allreduce(&one, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("errors: %d of %d\n", errors, size);
  MPI_Finalize();
  return 0;
}

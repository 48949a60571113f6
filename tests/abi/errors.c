/* What each library says of bad arguments; the same text for both ABIs. One line each, for the test to
   compare. With an argument it makes one call outside MPI_Init .. MPI_Finalize, or one error that ends the
   program. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void show(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  int class = 0;
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  printf("%s\n", code == MPI_SUCCESS ? "success" : text);
  if (code != MPI_SUCCESS && (class <= 0 || class > MPI_ERR_LASTCODE)) printf("bad class %d\n", class);
}

static void bad_arguments(MPI_Comm comm) {
  int data[4] = {0};
  MPI_Datatype pair;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  show(MPI_Send(data, 1, MPI_INT, 7, 0, comm));
  show(MPI_Send(data, 1, MPI_INT, 0, -5, comm));
  show(MPI_Send(data, -1, MPI_INT, 0, 0, comm));
  show(MPI_Send(NULL, 1, MPI_INT, 0, 0, comm));
  show(MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 0, comm));
  show(MPI_Send(data, 1, pair, 0, 0, comm));
  show(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, 0, 0, comm));
  show(MPI_Send(data, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm));
  show(MPI_Send(data, 1, MPI_INT, 0, MPI_ANY_TAG, comm));
  show(MPI_Send(data, -2147483647 - 1, MPI_INT, 0, 0, comm));
  show(MPI_Send_c(data, -1, MPI_INT, 0, 0, comm));
  show(MPI_Recv(data, 1, MPI_INT, -9, 0, comm, &status));
  show(MPI_Bcast(data, 1, MPI_INT, 5, comm));
  show(MPI_Bcast(NULL, 0, MPI_DATATYPE_NULL, 0, comm));
  show(MPI_Bcast_c(NULL, 0, MPI_DATATYPE_NULL, 0, comm));
  show(MPI_Allreduce(data, data + 2, 1, MPI_INT, MPI_OP_NULL, comm));
  show(MPI_Start(&request));
  show(MPI_Irecv(data, 1, MPI_INT, 0, 0, comm, NULL));
  show(MPI_Comm_rank(MPI_COMM_NULL, data));
  MPI_Type_free(&pair);
}

/// Shows it with "handle" for the value, which is another one in each ABI.
static void show_handle(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  char* value = strstr(text, "0x");
  char* rest = value != NULL ? value + strspn(value, "0123456789abcdefx") : text;
  if (value != NULL) *value = '\0';
  printf("%s%s%s\n", value != NULL ? text : "", value != NULL ? "handle" : "", rest);
}

static void wrong_handles(MPI_Comm comm) {
  MPI_Comm copy;
  MPI_Comm stale;
  MPI_Group group;
  int number;
  MPI_Comm_dup(comm, &copy);
  stale = copy;
  memcpy(&group, &copy, sizeof group);
  const int other_kind = MPI_Group_size(group, &number);
  MPI_Comm_free(&copy);
  show_handle(MPI_Comm_rank(stale, &number));
  show_handle(other_kind);
}

static void truncation(MPI_Comm comm) {
  const int out[3] = {1, 2, 3};
  int in;
  show(MPI_Sendrecv(out, 3, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE));
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "";
  int rank;
  if (strcmp(way, "before") == 0) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Init(&argc, &argv);
  if (strcmp(way, "fatal") == 0) MPI_Comm_rank(MPI_COMM_NULL, &rank);
  if (strcmp(way, "twice") == 0) MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  bad_arguments(MPI_COMM_WORLD);
  wrong_handles(MPI_COMM_WORLD);
  truncation(MPI_COMM_WORLD);
  MPI_Finalize();
  if (strcmp(way, "after") == 0) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return 0;
}

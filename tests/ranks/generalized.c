/* Generalised requests through the C interface: what the query function puts into its status comes out, the
 * request outlives MPI_Request_free until it is told complete, and a function's error reaches the error
 * handler of MPI_COMM_SELF. */
#include "check.h"

static int queries, frees, cancels;

static int query(void* state, MPI_Status* status) {
  ++queries;
  MPI_Status_set_elements(status, MPI_INT, 5);
  MPI_Status_set_cancelled(status, 1);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = *(int*)state;
  return MPI_SUCCESS;
}

static int failing_query(void* state, MPI_Status* status) {
  (void)state;
  (void)status;
  return MPI_ERR_INTERN;
}

static int release(void* state) {
  (void)state;
  ++frees;
  return MPI_SUCCESS;
}

static int cancel(void* state, int complete) {
  (void)state;
  cancels += complete ? 100 : 1;
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, tag = 17;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Request request, copy;
  MPI_Status status;

  MPI_Grequest_start(query, release, cancel, &tag, &request);
  MPI_Cancel(&request);
  MPI_Grequest_complete(request);
  MPI_Cancel(&request);
  CHECK(cancels == 101, "cancel saw %d", cancels);
  MPI_Wait(&request, &status);
  int count = 0, cancelled = 0;
  MPI_Get_count(&status, MPI_INT, &count);
  MPI_Test_cancelled(&status, &cancelled);
  CHECK(request == MPI_REQUEST_NULL && queries == 1 && frees == 1, "%d queries, %d frees", queries, frees);
  CHECK(count == 5 && cancelled && status.MPI_TAG == 17 && status.MPI_SOURCE == MPI_UNDEFINED,
        "count %d, cancelled %d, tag %d, source %d", count, cancelled, status.MPI_TAG, status.MPI_SOURCE);

  MPI_Grequest_start(query, release, cancel, &tag, &request);
  copy = request;
  MPI_Request_free(&request);
  CHECK(request == MPI_REQUEST_NULL && frees == 1, "%d frees before it is complete", frees);
  MPI_Grequest_complete(copy);
  CHECK(frees == 2, "%d frees after it is complete", frees);

  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int code = MPI_Grequest_complete(copy), error_class;
  MPI_Error_class(code, &error_class);
  CHECK(error_class == MPI_ERR_REQUEST, "a request that is gone: class %d", error_class);
  MPI_Grequest_start(failing_query, release, cancel, &tag, &request);
  MPI_Grequest_complete(request);
  code = MPI_Wait(&request, &status);
  MPI_Error_class(code, &error_class);
  CHECK(error_class == MPI_ERR_INTERN && request == MPI_REQUEST_NULL, "a failing query: class %d",
        error_class);

  /* Beside a message, in one MPI_Waitall. */
  MPI_Request both[2];
  int out = rank, in = -1;
  MPI_Grequest_start(query, release, cancel, &tag, &both[0]);
  MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &both[1]);
  MPI_Send(&out, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD);
  MPI_Grequest_complete(both[0]);
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  CHECK(in == (rank + size - 1) % size && queries == 2, "in %d, %d queries", in, queries);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("generalized: right\n");
  MPI_Finalize();
  return 0;
}

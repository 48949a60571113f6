// MPICH's operations on streams of accelerators, of which PETSc refers to these where MPICH had them when it
// was built. They want a communicator that such a stream was given to; here none is, which is an error of the
// call.
#include <cstdio>

#include "generated/binding/abi/mpich/mpi.h"

namespace {

int refuse(MPI_Comm comm, const char* function) {
  char text[MPI_MAX_ERROR_STRING];
  std::snprintf(text, sizeof text,
                "%s: expected a communicator with a stream of an accelerator, and Tasuki makes none",
                function);
  int code = MPI_ERR_COMM;
  if (PMPI_Add_error_code(MPI_ERR_COMM, &code) == MPI_SUCCESS) PMPI_Add_error_string(code, text);
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

}  // namespace

// mpi.h does not declare them.
#pragma GCC visibility push(default)
extern "C" {

int MPIX_Isend_enqueue(const void*, int, MPI_Datatype, int, int, MPI_Comm comm, MPI_Request*) {
  return refuse(comm, __func__);
}

int MPIX_Irecv_enqueue(void*, int, MPI_Datatype, int, int, MPI_Comm comm, MPI_Request*) {
  return refuse(comm, __func__);
}

/// Of requests that the two above would have made.
int MPIX_Waitall_enqueue(int, MPI_Request*, MPI_Status*) {
  return refuse(MPI_COMM_SELF, __func__);
}

}  // extern "C"
#pragma GCC visibility pop

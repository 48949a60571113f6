// The wrappers that bindgen does not write: start and end of the recording, completion calls, and calls that
// change what the trace knows of a handle.
#pragma once

#include <mpi.h>

namespace tasuki::trace::TASUKI_TRACE_ABI {

int traced_Init(int* argc, char*** argv);
int traced_Init_thread(int* argc, char*** argv, int required, int* provided);
int traced_Finalize();
int traced_Abort(MPI_Comm comm, int errorcode);
int traced_Pcontrol(const int level, ...);
int traced_Comm_set_name(MPI_Comm comm, const char* comm_name);
int traced_Type_free(MPI_Datatype* datatype);
int traced_Wait(MPI_Request* request, MPI_Status* status);
int traced_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]);
int traced_Waitany(int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status);
int traced_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                    MPI_Status array_of_statuses[]);
int traced_Test(MPI_Request* request, int* flag, MPI_Status* status);
int traced_Testall(int count, MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]);
int traced_Testany(int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status);
int traced_Testsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                    MPI_Status array_of_statuses[]);
int traced_Start(MPI_Request* request);
int traced_Startall(int count, MPI_Request array_of_requests[]);
int traced_Request_free(MPI_Request* request);

}  // namespace tasuki::trace::TASUKI_TRACE_ABI

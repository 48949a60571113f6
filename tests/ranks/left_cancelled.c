/* Rank 0 cancels a long receive when rank 1, which was to send the message, has ended its session and itself.
 * Between two nodes. */
#include <mpi.h>
#include <stdio.h>

#include <unistd.h>

enum { BYTES = 200000 };

int main(void) {
  static char buffer[BYTES];
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int rank, flag = 0;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "left", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  MPI_Comm_rank(comm, &rank);
  MPI_Request request;
  MPI_Status status;
  if (rank == 0) MPI_Irecv(buffer, BYTES, MPI_BYTE, 1, 5, comm, &request);
  MPI_Barrier(comm);
  if (rank == 0) {
    usleep(500000); /* the other one has left by then; if not, nothing is shown, and nothing is wrong */
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
  }
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  if (rank == 0) printf("left: %s\n", flag ? "cancelled" : "not cancelled");
  return 0;
}

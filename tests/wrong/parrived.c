// Wrong: rank 0 asks with MPI_Parrived for a partition that rank 1 makes ready only after an answer.
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, flag = 0, number = 0;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Precv_init(&number, 1, 1, MPI_INT, 1, 13, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    while (!flag) MPI_Parrived(request, 0, &flag);
    MPI_Send(&number, 1, MPI_INT, 1, 14, MPI_COMM_WORLD);
  } else {
    MPI_Psend_init(&number, 1, 1, MPI_INT, 0, 13, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Recv(&number, 1, MPI_INT, 0, 14, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Pready(0, request);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}

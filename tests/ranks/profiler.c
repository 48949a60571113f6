/* A profiler as tools are written (MPI 15.2): it defines some MPI functions, calls their PMPI twins, and
 * prints at the end what all ranks together called. MPI_Pcontrol switches it. */
#include <mpi.h>
#include <stdio.h>

static int is_on = 1;
static long sends = 0, reductions = 0, switches = 0;

int MPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  sends += is_on;
  return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm) {
  reductions += is_on;
  return PMPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
}

int MPI_Pcontrol(const int level, ...) {
  is_on = level != 0;
  ++switches;
  return MPI_SUCCESS;
}

int MPI_Finalize(void) {
  const long mine[3] = {sends, reductions, switches};
  long all[3] = {0, 0, 0};
  int rank;
  PMPI_Reduce(mine, all, 3, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("profiler: %ld sends, %ld reductions, %ld switches\n", all[0], all[1], all[2]);
  return PMPI_Finalize();
}

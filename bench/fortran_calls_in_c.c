/* The calls of fortran_calls.f90, in C: what its times are compared with. Returns the seconds that they took.
 */
#include <mpi.h>

static double values[16];

double rank_in_c(int calls);
double send_in_c(int calls, int count);

double rank_in_c(int calls) {
  int rank;
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; i++) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return MPI_Wtime() - begin;
}

double send_in_c(int calls, int count) {
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; i++) MPI_Send(values, count, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  return MPI_Wtime() - begin;
}

// Wrong: two communicators of the same ranks, whose barriers rank 0 calls in another order than the others.
#include <mpi.h>
#include <stddef.h>

int main(void) {
  MPI_Init(NULL, NULL);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm rows, columns;
  MPI_Comm_dup(MPI_COMM_WORLD, &rows);
  MPI_Comm_dup(MPI_COMM_WORLD, &columns);
  MPI_Comm_set_name(rows, "rows");
  MPI_Comm_set_name(columns, "columns");
  MPI_Barrier(rank == 0 ? rows : columns);
  MPI_Barrier(rank == 0 ? columns : rows);
  MPI_Comm_free(&rows);
  MPI_Comm_free(&columns);
  MPI_Finalize();
  return 0;
}

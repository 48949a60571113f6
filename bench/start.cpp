// MPI_Init and MPI_Finalize and nothing between: bench/run.py takes the time of the whole run, launcher and
// all.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  return 0;
}

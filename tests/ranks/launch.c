/* A rank that ends in the way its arguments say: launch HOW RANK [NUMBER]. Rank RANK does HOW; the others
   wait in a barrier for what never comes, so that only mpiexec can end them (or all go through, when HOW is
   harmless). */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "finalize";
  const int who = argc > 2 ? atoi(argv[2]) : 0;
  const int number = argc > 3 ? atoi(argv[3]) : 0;
  const char* place = getenv("TASUKI_RANK");
  const int chosen = place != NULL && atoi(place) == who;
  if (chosen && strcmp(how, "skip-init") == 0) return number;
  if (strcmp(how, "late-init") == 0 && !chosen) usleep(300 * 1000); /* the chosen one is gone by then */
  if (strcmp(how, "late-init") == 0 && chosen) return 0;
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(how, "hello") == 0) printf("rank %d of %d\n", rank, size);
  if (strcmp(how, "appnum") == 0) {
    int *appnum, found;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &found);
    printf("rank %d application %d\n", rank, found ? *appnum : -1);
  }
  if (strcmp(how, "child") == 0 && chosen) {
    char command[4096];
    snprintf(command, sizeof command, "%s hello", argv[0]);
    const int status = system(command);
    printf("child: status %d\n", status);
  }
  if (rank == who) {
    if (strcmp(how, "exit") == 0) exit(number);
    if (strcmp(how, "abort") == 0) {
      printf("before the abort");
      MPI_Abort(MPI_COMM_WORLD, number);
    }
    if (strcmp(how, "signal") == 0) raise(number);
    if (strcmp(how, "sleep") == 0) sleep(1000);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return strcmp(how, "late-status") == 0 && rank == who ? number : 0;
}

/* launchers HOW [COMMAND]: what ranks do that another launcher started. "hello" says who this is. "child" and
   "late-child" have rank 0 start COMMAND, inside of MPI and after it. The others have rank 1 end badly, while
   the rest waits in a barrier. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int told_rank(void) {
  const char* names[] = {"PMI_RANK", "PMI_ID", "PMIX_RANK", "TASUKI_RANK"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (getenv(names[i]) != NULL) return atoi(getenv(names[i]));
  }
  return 0;
}

static void run(const char* command) {
  fflush(stdout);
  printf("the child returned %d\n", system(command));
  fflush(stdout);
}

int main(int argc, char** argv) {
  const char* how = argv[1];
  if (strcmp(how, "skip-init") == 0 && told_rank() == 1) return 0;
  MPI_Init(&argc, &argv);
  int rank, size, flag, *application, ones = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&(int){1}, &ones, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &application, &flag);
  if (strcmp(how, "hello") == 0) {
    printf("rank %d of %d, program %d, %d came\n", rank, size, flag ? *application : -1, ones);
    fflush(stdout); /* gforker may not pass on what comes with the end */
    usleep(20 * 1000);
  }
  if (strcmp(how, "child") == 0 && rank == 0) run(argv[2]);
  if (rank == 1) {
    if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(how, "error") == 0) MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (strcmp(how, "kill") == 0) raise(SIGKILL);
    if (strcmp(how, "exit") == 0) _exit(0);
    if (strcmp(how, "fail") == 0) exit(3);
    if (strcmp(how, "stray") == 0 && fork() > 0) _exit(0); /* the launcher's pipes and sockets stay open */
    if (strcmp(how, "stray") == 0) {
      sleep(4);
      _exit(0);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (strcmp(how, "late-child") == 0 && rank == 0) run(argv[2]);
  return 0;
}

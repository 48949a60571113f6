/* session_alone WHAT…: each rank does the WHAT of its number (the last one for the rest): "none" uses no MPI,
 * "session" opens and finalises a session, "open" forgets to finalise it, "world" calls MPI_Init. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  const char* number = getenv("TASUKI_RANK");
  int rank = number != NULL ? atoi(number) : 0;
  const char* what = argv[rank + 1 < argc ? rank + 1 : argc - 1];
  if (strcmp(what, "world") == 0) {
    MPI_Init(&argc, &argv);
    MPI_Finalize();
  } else if (strcmp(what, "none") != 0) {
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    if (strcmp(what, "session") == 0) MPI_Session_finalize(&session);
  }
  printf("%s done\n", what);
  return 0;
}

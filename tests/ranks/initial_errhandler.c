/* Which error handler communicators begin with: "initial_errhandler NAME" is to be found on MPI_COMM_WORLD
 * and MPI_COMM_SELF, and what follows from it. "initial_errhandler NAME spawn OTHER" spawns itself to find
 * OTHER. */
#include <string.h>

#include "check.h"

static MPI_Errhandler by_name(const char* name) {
  if (strcmp(name, "mpi_errors_abort") == 0) return MPI_ERRORS_ABORT;
  return strcmp(name, "mpi_errors_return") == 0 ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  for (int i = 0; i < 2; ++i) {
    MPI_Errhandler found;
    MPI_Comm_get_errhandler(comms[i], &found);
    CHECK(found == by_name(argv[1]), "communicator %d has another error handler than %s", i, argv[1]);
  }
  if (by_name(argv[1]) == MPI_ERRORS_RETURN) {
    CHECK(MPI_Send(NULL, 0, MPI_INT, 99, 0, MPI_COMM_WORLD) != MPI_SUCCESS, "no error");
  }
  MPI_Comm children = MPI_COMM_NULL, parent;
  if (argc > 3) {
    char* arguments[] = {argv[3], NULL};
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_initial_errhandler", argv[3]);
    MPI_Comm_spawn(argv[0], arguments, 2, info, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Info_set(info, "mpi_initial_errhandler", "none");
    MPI_Comm none;
    const int code =
        MPI_Comm_spawn(argv[0], arguments, 2, info, 0, MPI_COMM_WORLD, &none, MPI_ERRCODES_IGNORE);
    int error_class;
    MPI_Error_class(code, &error_class);
    CHECK(error_class == MPI_ERR_INFO_VALUE, "a name of no handler gave class %d", error_class);
    MPI_Info_free(&info);
  }
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) MPI_Comm_disconnect(&parent);
  if (children != MPI_COMM_NULL) MPI_Comm_disconnect(&children);
  MPI_Finalize();
  return 0;
}

// Flushes of a window by ranks that share processors: most complete operations and wait for nothing, so few
// of them may offer the processor. Run by test_windows.py; prints how many offers 6400 flushes made.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int provided, index, count, rank;
  unsigned long long before = 0, behind = 0;
  double* base;
  MPI_Win win;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  if (MPI_T_pvar_get_index("yields", MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS) return 1;
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
  MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  MPI_Win_lock_all(0, win);
  MPI_T_pvar_start(session, handle);
  MPI_T_pvar_read(session, handle, &before);
  for (int i = 0; i < 6400; ++i) MPI_Win_flush_all(win);
  MPI_T_pvar_read(session, handle, &behind);
  printf("rank %d: %llu\n", rank, behind - before);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_T_pvar_handle_free(session, &handle);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  return MPI_Finalize();
}

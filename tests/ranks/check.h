/* CHECK(condition, text…): ends the job with a line that says rank, place and text when it does not hold. */
#ifndef CHECK_H
#define CHECK_H
#include <mpi.h>
#include <stdio.h>

#define CHECK(condition, ...)                                              \
  do {                                                                     \
    if (!(condition)) {                                                    \
      int check_rank = -1;                                                 \
      MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);                          \
      fprintf(stderr, "rank %d: %s:%d: ", check_rank, __FILE__, __LINE__); \
      fprintf(stderr, __VA_ARGS__);                                        \
      fprintf(stderr, "\n");                                               \
      MPI_Abort(MPI_COMM_WORLD, 1);                                        \
    }                                                                      \
  } while (0)

#endif

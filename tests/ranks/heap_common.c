/* What heap_common.f90 calls: a buffer goes to the next rank, and that of the rank before comes in its place.
 * "common NAME: KIND" tells whether the block lies in the symmetric heap. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "mapping.h"

void begin_mpi(int* rank, int* size) {
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, size);
}

void pass_on(char* buffer, int bytes, const char* name) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  char* const own = malloc((size_t)bytes);
  memcpy(own, buffer, (size_t)bytes);
  MPI_Request request; /* once out of the block, once into it */
  MPI_Irecv(own, bytes, MPI_BYTE, before, 1, MPI_COMM_WORLD, &request);
  MPI_Send(buffer, bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  char* const twice = malloc((size_t)bytes);
  memcpy(twice, buffer, (size_t)bytes);
  memset(buffer, 0xff, (size_t)bytes);
  MPI_Irecv(buffer, bytes, MPI_BYTE, before, 2, MPI_COMM_WORLD, &request);
  MPI_Send(twice, bytes, MPI_BYTE, next, 2, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(memcmp(own, buffer, (size_t)bytes) == 0, "COMMON /%s/ differs by the way it came", name);
  free(own);
  free(twice);
  printf("common %s: %s\n", name, kind_of(buffer));
}

void end_mpi(void) {
  MPI_Finalize();
}

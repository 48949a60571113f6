/* The blocking collectives with every rank as root, against what arithmetic says. */
#include <stdlib.h>

#include "check.h"

static void rooted(int rank, int size, int root) {
  long value = rank == root ? 1000 + root : -1;
  MPI_Bcast(&value, 1, MPI_LONG, root, MPI_COMM_WORLD);
  CHECK(value == 1000 + root, "bcast from %d gave %ld", root, value);

  long mine = rank + 1, sum = -1;
  MPI_Reduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD);
  if (rank == root) CHECK(sum == (long)size * (size + 1) / 2, "reduce to %d gave %ld", root, sum);

  long* all = malloc(sizeof(long) * size);
  MPI_Gather(&mine, 1, MPI_LONG, all, 1, MPI_LONG, root, MPI_COMM_WORLD);
  for (int i = 0; rank == root && i < size; i++) CHECK(all[i] == i + 1, "gather: all[%d] = %ld", i, all[i]);
  for (int i = 0; rank == root && i < size; i++) all[i] = 10 * i + root;
  MPI_Scatter(all, 1, MPI_LONG, &value, 1, MPI_LONG, root, MPI_COMM_WORLD);
  CHECK(value == 10 * rank + root, "scatter from %d gave %ld", root, value);
  free(all);
}

static void rootless(int rank, int size) {
  long mine = rank, top = -1, before = -1, through = -1;
  MPI_Allreduce(&mine, &top, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
  CHECK(top == size - 1, "allreduce gave %ld", top);
  MPI_Scan(&mine, &through, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  CHECK(through == (long)rank * (rank + 1) / 2, "scan gave %ld", through);
  MPI_Exscan(&mine, &before, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank > 0) CHECK(before == (long)rank * (rank - 1) / 2, "exscan gave %ld", before);

  long *out = malloc(sizeof(long) * size), *in = malloc(sizeof(long) * size);
  MPI_Allgather(&mine, 1, MPI_LONG, in, 1, MPI_LONG, MPI_COMM_WORLD);
  for (int i = 0; i < size; i++) CHECK(in[i] == i, "allgather: in[%d] = %ld", i, in[i]);
  for (int i = 0; i < size; i++) out[i] = 100 * rank + i;
  MPI_Alltoall(out, 1, MPI_LONG, in, 1, MPI_LONG, MPI_COMM_WORLD);
  for (int i = 0; i < size; i++) CHECK(in[i] == 100 * i + rank, "alltoall: in[%d] = %ld", i, in[i]);
  MPI_Reduce_scatter_block(out, in, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  CHECK(in[0] == 100L * size * (size - 1) / 2 + (long)size * rank, "reduce_scatter_block gave %ld", in[0]);
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int root = 0; root < size; root++) rooted(rank, size, root);
  for (int round = 0; round < 10; round++) rootless(rank, size);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("collectives: right\n");
  MPI_Finalize();
  return 0;
}

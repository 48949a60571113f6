/* Every collective over hosts against closed forms, blocking and nonblocking, with blocks of several sizes,
   among all ranks and among these in reverse order. Rank 0 prints "well" at the end; what is wrong ends the
   job. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRanksMax = 16, kBlockMax = 20000 };

static int rank, size;
static MPI_Comm comm;
static int *out, *in;
static int out_counts[kRanksMax], in_counts[kRanksMax], out_places[kRanksMax], in_places[kRanksMax];

static void check(int right, const char* what, int detail) {
  if (right) return;
  fprintf(stderr, "rank %d of %d: %s: %d\n", rank, size, what, detail);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int element(int from, int to, int at) {
  return from * 1000003 + to * 10007 + at;
}
/* Of the block from one rank to another: none, short and long ones. */
static int count_between(int from, int to, int call) {
  static const int counts[] = {0, 1, 7, 900, 5000, 2, kBlockMax};
  return counts[(3 * from + 5 * to + call) % 7];
}

/* Counts and places of the blocks of all ranks, a gap between; returns the end. */
static int lay_out(int* counts, int* places, int is_from, int root, int call) {
  int end = 0;
  for (int member = 0; member < size; member++) {
    const int other = root < 0 ? rank : root;
    counts[member] = is_from ? count_between(member, other, call) : count_between(other, member, call);
    places[member] = end;
    end += counts[member] + 1;
  }
  return end;
}
static void fill(int* block, int count, int from, int to) {
  for (int at = 0; at < count; at++) block[at] = element(from, to, at);
}
static void expect(const int* block, int count, int from, int to, const char* what) {
  for (int at = 0; at < count; at++) check(block[at] == element(from, to, at), what, at);
}
static void clear(int* memory, int count) {
  for (int at = 0; at < count; at++) memory[at] = -1;
}

static void finish(MPI_Request* request) {
  if (*request != MPI_REQUEST_NULL) MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void unequal_blocks(int call, int nonblocking) {
  MPI_Request request = MPI_REQUEST_NULL;
  for (int root = 0; root < size; root++) {
    const int own = count_between(rank, root, call);
    const int end = lay_out(in_counts, in_places, 1, root, call);
    fill(out, own, rank, root);
    clear(in, end);
    if (nonblocking)
      MPI_Igatherv(out, own, MPI_INT, in, in_counts, in_places, MPI_INT, root, comm, &request);
    else
      MPI_Gatherv(out, own, MPI_INT, in, in_counts, in_places, MPI_INT, root, comm);
    finish(&request);
    for (int from = 0; rank == root && from < size; from++) {
      expect(in + in_places[from], in_counts[from], from, root, "gatherv");
      check(in[in_places[from] + in_counts[from]] == -1, "gatherv wrote beyond a block", from);
    }
    lay_out(out_counts, out_places, 0, root, call);
    for (int to = 0; rank == root && to < size; to++) fill(out + out_places[to], out_counts[to], root, to);
    const int coming = count_between(root, rank, call);
    clear(in, coming + 1);
    if (nonblocking)
      MPI_Iscatterv(out, out_counts, out_places, MPI_INT, in, coming, MPI_INT, root, comm, &request);
    else
      MPI_Scatterv(out, out_counts, out_places, MPI_INT, in, coming, MPI_INT, root, comm);
    finish(&request);
    expect(in, coming, root, rank, "scatterv");
    check(in[coming] == -1, "scatterv wrote beyond a block", root);
  }
  lay_out(out_counts, out_places, 0, -1, call);
  clear(in, lay_out(in_counts, in_places, 1, -1, call));
  for (int to = 0; to < size; to++) fill(out + out_places[to], out_counts[to], rank, to);
  if (nonblocking)
    MPI_Ialltoallv(out, out_counts, out_places, MPI_INT, in, in_counts, in_places, MPI_INT, comm, &request);
  else
    MPI_Alltoallv(out, out_counts, out_places, MPI_INT, in, in_counts, in_places, MPI_INT, comm);
  finish(&request);
  for (int from = 0; from < size; from++) {
    expect(in + in_places[from], in_counts[from], from, rank, "alltoallv");
    check(in[in_places[from] + in_counts[from]] == -1, "alltoallv wrote beyond a block", from);
  }
}

/* Sums over all ranks of rank + at, or over those before this one and itself. */
static long sum_to(int ranks, int at) {
  return (long)ranks * (ranks - 1) / 2 + (long)ranks * at;
}

static void equal_blocks(int count, int nonblocking) {
  MPI_Request request = MPI_REQUEST_NULL;
  for (int to = 0; to < size; to++) fill(out + to * count, count, rank, to);
  clear(in, size * count);
  if (nonblocking)
    MPI_Ialltoall(out, count, MPI_INT, in, count, MPI_INT, comm, &request);
  else
    MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, comm);
  finish(&request);
  for (int from = 0; from < size; from++) expect(in + from * count, count, from, rank, "alltoall");
  clear(in, size * count);
  if (nonblocking)
    MPI_Iallgather(out, count, MPI_INT, in, count, MPI_INT, comm, &request);
  else
    MPI_Allgather(out, count, MPI_INT, in, count, MPI_INT, comm);
  finish(&request);
  for (int from = 0; from < size; from++) expect(in + from * count, count, from, 0, "allgather");
  for (int root = 0; root < size; root++) {
    fill(in, count, rank, root);
    if (nonblocking)
      MPI_Ibcast(in, count, MPI_INT, root, comm, &request);
    else
      MPI_Bcast(in, count, MPI_INT, root, comm);
    finish(&request);
    expect(in, count, root, root, "bcast");
    for (int at = 0; at < count; at++) out[at] = rank + at;
    if (nonblocking)
      MPI_Ireduce(out, in, count, MPI_INT, MPI_SUM, root, comm, &request);
    else
      MPI_Reduce(out, in, count, MPI_INT, MPI_SUM, root, comm);
    finish(&request);
    for (int at = 0; rank == root && at < count; at++) check(in[at] == sum_to(size, at), "reduce", at);
  }
  if (nonblocking)
    MPI_Iallreduce(out, in, count, MPI_INT, MPI_SUM, comm, &request);
  else
    MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, comm);
  finish(&request);
  for (int at = 0; at < count; at++) check(in[at] == sum_to(size, at), "allreduce", at);
  if (nonblocking)
    MPI_Iscan(out, in, count, MPI_INT, MPI_SUM, comm, &request);
  else
    MPI_Scan(out, in, count, MPI_INT, MPI_SUM, comm);
  finish(&request);
  for (int at = 0; at < count; at++) check(in[at] == sum_to(rank + 1, at), "scan", at);
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check(size <= kRanksMax, "too many ranks", size);
  out = malloc(sizeof(int) * kRanksMax * (kBlockMax + 1));
  in = malloc(sizeof(int) * kRanksMax * (kBlockMax + 1));
  for (int order = 1; order >= -1; order -= 2) {
    MPI_Comm_split(MPI_COMM_WORLD, 0, order * rank, &comm);
    MPI_Comm_rank(comm, &rank);
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
      for (int call = 0; call < 3; call++) unequal_blocks(call, nonblocking);
      equal_blocks(2, nonblocking);
      equal_blocks(kBlockMax, nonblocking);
      MPI_Barrier(comm);
    }
    MPI_Comm_free(&comm);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("well\n");
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}

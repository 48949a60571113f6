/* Virtual nodes (mpiexec --nodes), or hosts: who shares memory with whom, by all that MPI says about it, and
   what does not cross nodes. "SPEC" as the argument is the node of each rank, as letters: "aabb". A second
   argument: the nodes are hosts. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static int rank, size;
static const char* spec;
static int on_hosts;

static int expected_on_my_node(void) {
  int count = 0;
  for (int i = 0; i < size; ++i) count += spec[i] == spec[rank];
  return count;
}

/* Of a host its name is told, here and in the environment's info. */
static void host_name(const char* name) {
  char host[256] = "", told[256] = "";
  int found;
  MPI_Info info;
  gethostname(host, sizeof host - 1);
  CHECK(strcmp(name, host) == 0, "name \"%s\", not \"%s\"", name, host);
  MPI_Info_get(MPI_INFO_ENV, "host", sizeof told - 1, told, &found);
  CHECK(found && strcmp(told, host) == 0, "host \"%s\" in MPI_INFO_ENV, not \"%s\"", told, host);
  MPI_Get_hw_resource_info(&info);
  MPI_Info_get(info, "mpi_shared_memory", sizeof told - 1, told, &found);
  CHECK(found && strcmp(told, "true") == 0, "mpi_shared_memory is \"%s\"", told);
  MPI_Info_free(&info);
}

/* The names of ranks are equal exactly where their nodes are, and end in a virtual node's number. */
static void names(void) {
  char name[MPI_MAX_PROCESSOR_NAME] = "", end[32];
  int length;
  MPI_Get_processor_name(name, &length);
  CHECK(length == (int)strlen(name), "length %d of \"%s\"", length, name);
  snprintf(end, sizeof end, ".node%d", spec[rank] - 'a');
  if (on_hosts)
    host_name(name);
  else
    CHECK(length > (int)strlen(end) && strcmp(name + length - strlen(end), end) == 0, "name \"%s\"", name);
  char* all = malloc((size_t)size * sizeof name);
  MPI_Allgather(name, sizeof name, MPI_CHAR, all, sizeof name, MPI_CHAR, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) {
    const int same = strcmp(all + (size_t)i * sizeof name, name) == 0;
    CHECK(same == (spec[i] == spec[rank]), "rank %d is at \"%s\"", i, all + (size_t)i * sizeof name);
  }
  free(all);
}

/* The communicators of ranks that share memory are the nodes; shared windows exist in them, and only there.
 */
static void sharing(void) {
  MPI_Comm node;
  int node_size, node_rank;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &node_size);
  MPI_Comm_rank(node, &node_rank);
  CHECK(node_size == expected_on_my_node(), "%d ranks share my memory", node_size);
  MPI_Win win = MPI_WIN_NULL;
  int* base;
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node, &base, &win);
  MPI_Win_lock_all(0, win);
  *base = 1000 + rank;
  MPI_Win_sync(win);
  MPI_Barrier(node);
  MPI_Win_sync(win);
  for (int other = 0, world = 0; other < node_size; ++other, ++world) {
    MPI_Aint bytes;
    int unit, *its;
    while (spec[world] != spec[rank]) ++world;
    MPI_Win_shared_query(win, other, &bytes, &unit, &its);
    CHECK(bytes == sizeof(int) && *its == 1000 + world, "rank %d's memory holds %d", world, *its);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);

  MPI_Comm all;
  int error_class;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
  MPI_Error_class(MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, all, &base, &win),
                  &error_class);
  if (node_size == size) {
    CHECK(error_class == MPI_SUCCESS, "class %d", error_class);
    MPI_Win_free(&win);
  } else {
    CHECK(error_class == MPI_ERR_RMA_SHARED && win == MPI_WIN_NULL, "class %d", error_class);
  }
  MPI_Comm_free(&all);
  MPI_Comm_free(&node);
}

/* What MPI_Win_allocate gives can be addressed on the own node alone, and be put to and got from by all. */
static void allocated_window(void) {
  MPI_Win win;
  long* base;
  MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  for (int other = 0; other < size; ++other) {
    MPI_Aint bytes;
    int unit;
    void* its;
    MPI_Win_shared_query(win, other, &bytes, &unit, &its);
    if (spec[other] != spec[rank])
      CHECK(bytes == 0 && its == NULL, "rank %d's memory is at %p here", other, its);
  }
  base[0] = base[1] = 0;
  const long mine = rank + 1;
  MPI_Win_fence(0, win);
  MPI_Put(&mine, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, win);
  for (int other = 0; other < size; ++other)
    MPI_Accumulate(&mine, 1, MPI_LONG, other, 1, 1, MPI_LONG, MPI_SUM, win);
  MPI_Win_fence(0, win);
  CHECK(base[0] == (rank + size - 1) % size + 1, "put: %ld", base[0]);
  CHECK(base[1] == (long)size * (size + 1) / 2, "sum: %ld", base[1]);
  MPI_Win_free(&win);
}

/* Communicators that are subsets, reversed and interleaved over the nodes, under every kind of collective. */
static void subsets(void) {
  for (int kind = 0; kind < 3; ++kind) {
    const int color = kind == 0 ? 0 : kind == 1 ? rank % 2 : rank / 2, key = kind == 2 ? rank : -rank;
    MPI_Comm comm;
    int own, count, sum = 0, want = 0;
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm);
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &count);
    int* all = malloc(sizeof(int) * (size_t)count);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm);
    for (int i = 0; i < count; ++i) want += all[i];
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == want && all[own] == rank, "sum %d, not %d", sum, want);
    for (int root = 0; root < count; ++root) {
      static int data[100000];
      for (int i = 0; i < 100000; ++i) data[i] = own == root ? i + root : -1;
      MPI_Bcast(data, root % 2 == 0 ? 100000 : 3, MPI_INT, root, comm);
      for (int i = 0; i < (root % 2 == 0 ? 100000 : 3); ++i)
        CHECK(data[i] == i + root, "data[%d] = %d", i, data[i]);
    }
    MPI_Barrier(comm);
    free(all);
    MPI_Comm_free(&comm);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  spec = argv[1];
  on_hosts = argc == 3;
  CHECK(argc >= 2 && (int)strlen(spec) == size, "expected the node of each rank");
  names();
  sharing();
  allocated_window();
  subsets();
  if (rank == 0) printf("nodes: right\n");
  MPI_Finalize();
  return 0;
}

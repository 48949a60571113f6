/* The program of test_sizes.py: sizes FOLDER, with one rank or two.
 *
 * Calls every function whose memory follows from what a program passes with so much that it cannot be had:
 * the address space is limited to a little more than what there is, and the arguments lie in 256 MiB that
 * were there before. Each has to return an error, MPI_ERR_NO_MEM where nothing else is wrong, and the rank
 * goes on: a small message and a collective come through after each. Prints a line for each call: NAME class.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../ranks/check.h"

#define NUMBERS (1 << 26)           /* ints in `ones` and in `zeros` */
#define BYTES ((size_t)NUMBERS * 4) /* of either */
#define SPARE ((size_t)64 << 20)    /* what may be allocated */

static int rank, ranks;
static int *ones, *zeros;

static size_t address_space(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%ld", &pages) == 1, "no /proc/self/statm");
  fclose(file);
  return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Every element is `value`: one page, mapped over and over. */
static int* filled(int value) {
  const size_t part = 1 << 20;
  const int fd = memfd_create("numbers", 0);
  CHECK(fd >= 0 && ftruncate(fd, (off_t)part) == 0, "no memory file");
  int* once = mmap(NULL, part, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(once != MAP_FAILED, "no memory");
  for (size_t i = 0; i < part / sizeof(int); ++i) once[i] = value;
  char* all = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  for (size_t at = 0; at < BYTES; at += part)
    CHECK(mmap(all + at, part, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == all + at,
          "no memory");
  munmap(once, part);
  close(fd);
  return (int*)all;
}

static void limit_memory(size_t spare) {
  const struct rlimit limit = {spare == 0 ? RLIM_INFINITY : address_space() + spare, RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0, "no limit");
}

/* What a call returned; and that the rank lives. */
static void told(const char* name, int code) {
  int class = MPI_SUCCESS, sum = 0;
  char small = 7, got = 0;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  MPI_Sendrecv(&small, 1, MPI_CHAR, (rank + 1) % ranks, 99, &got, 1, MPI_CHAR, (rank + ranks - 1) % ranks, 99,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(got == 7 && sum == ranks * (ranks - 1) / 2, "after %s", name);
  if (rank != 0) return;
  printf("%s %s\n", name,
         class == MPI_ERR_NO_MEM ? "NO_MEM"
         : class == MPI_SUCCESS  ? "right"
                                 : "another error");
  fflush(stdout);
}

/* ---- messages ---- */

static void messages(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int count = (int)BYTES;
  told("Sendrecv_replace",
       MPI_Sendrecv_replace(zeros, count, MPI_CHAR, rank, 0, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  told("Isendrecv_replace",
       MPI_Isendrecv_replace(zeros, count, MPI_CHAR, rank, 0, rank, 0, MPI_COMM_WORLD, &request));
  CHECK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0) == MPI_SUCCESS, "MPI_Buffer_attach");
  told("Bsend", MPI_Bsend(zeros, count, MPI_CHAR, rank, 0, MPI_COMM_WORLD));
  told("Ibsend", MPI_Ibsend(zeros, count, MPI_CHAR, rank, 0, MPI_COMM_WORLD, &request));
  MPI_Bsend_init(zeros, count, MPI_CHAR, rank, 0, MPI_COMM_WORLD, &request);
  told("Start", MPI_Start(&request));
  MPI_Request_free(&request);
  void* detached;
  int size;
  MPI_Buffer_detach(&detached, &size);
  told("Psend_init",
       MPI_Psend_init(zeros, INT_MAX, 0, MPI_CHAR, rank, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  told("Precv_init",
       MPI_Precv_init(zeros, INT_MAX, 0, MPI_CHAR, rank, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  CHECK(MPI_Psend_init(zeros, 8, 1, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request) ==
            MPI_SUCCESS,
        "MPI_Psend_init");
  MPI_Start(&request);
  told("Pready_list", MPI_Pready_list(NUMBERS, ones, request));
  MPI_Pready_range(0, 7, request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  told("Waitall", MPI_Waitall(NUMBERS / 2, (MPI_Request*)ones, MPI_STATUSES_IGNORE));
}

/* ---- datatypes ---- */

static void freed(const char* name, int code, MPI_Datatype type) {
  told(name, code);
  if (code == MPI_SUCCESS) MPI_Type_free(&type);
}

static void datatypes(void) {
  const int n = NUMBERS;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  freed("Type_indexed", MPI_Type_indexed(n, ones, ones, MPI_INT, &type), type);
  freed("Type_indexed of none", MPI_Type_indexed(n, zeros, ones, MPI_INT, &type), type);
  freed("Type_create_hindexed", MPI_Type_create_hindexed(n / 2, ones, (MPI_Aint*)ones, MPI_INT, &type), type);
  freed("Type_create_indexed_block", MPI_Type_create_indexed_block(n, 1, ones, MPI_INT, &type), type);
  freed("Type_create_hindexed_block",
        MPI_Type_create_hindexed_block(n / 2, 1, (MPI_Aint*)ones, MPI_INT, &type), type);
  freed("Type_create_struct",
        MPI_Type_create_struct(n / 2, ones, (MPI_Aint*)ones, (MPI_Datatype*)ones, &type), type);
  freed("Type_create_struct_c",
        MPI_Type_create_struct_c(((MPI_Count)1 << 61) + 1, (MPI_Count*)ones, (MPI_Count*)ones,
                                 (MPI_Datatype*)ones, &type),
        type);
  freed("Type_indexed_c", MPI_Type_indexed_c(n / 2, (MPI_Count*)zeros, (MPI_Count*)zeros, MPI_INT, &type),
        type);
  freed("Type_create_subarray", MPI_Type_create_subarray(n, ones, ones, zeros, MPI_ORDER_C, MPI_INT, &type),
        type);
}

/* ---- groups, topologies ---- */

static void topologies(void) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Group world, group;
  const int mine = 0, all = NUMBERS;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  told("Group_incl", MPI_Group_incl(world, NUMBERS, zeros, &group));
  told("Group_excl", MPI_Group_excl(world, NUMBERS, zeros, &group));
  told("Group_range_incl", MPI_Group_range_incl(world, NUMBERS / 3, (int(*)[3])zeros, &group));
  MPI_Group_free(&world);
  told("Cart_create", MPI_Cart_create(MPI_COMM_WORLD, NUMBERS, ones, ones, 0, &made));
  told("Graph_create", MPI_Graph_create(MPI_COMM_WORLD, 1, &all, zeros, 0, &made));
  told("Dist_graph_create",
       MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &mine, &all, zeros, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
  told("Dist_graph_create_adjacent",
       MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, NUMBERS, zeros, MPI_UNWEIGHTED, 0, zeros,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
  int* dims = calloc(1 << 20, sizeof(int));
  told("Dims_create", MPI_Dims_create(INT_MAX, 1 << 20, dims));
  free(dims);
}

/* Of half a million neighbors, which are there; what a call makes of them is not. */
static void neighborhoods(void) {
  const int degree = 1 << 19;
  int* ranks_of = calloc((size_t)degree, sizeof(int));
  MPI_Comm graph = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  for (int i = 0; i < degree; ++i) ranks_of[i] = rank;
  CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, ranks_of, MPI_UNWEIGHTED, degree, ranks_of,
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph) == MPI_SUCCESS,
        "MPI_Dist_graph_create_adjacent");
  told("Neighbor_allgather", MPI_Neighbor_allgather(ones, 1, MPI_CHAR, zeros, 1, MPI_CHAR, graph));
  told("Ineighbor_alltoall", MPI_Ineighbor_alltoall(ones, 1, MPI_CHAR, zeros, 1, MPI_CHAR, graph, &request));
  MPI_Comm_free(&graph);
  free(ranks_of);
}

/* ---- memory, windows, collectives, spawning ---- */

static void sum(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
}

static void collectives(void) {
  MPI_Op op;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Op_create(sum, 0, &op);
  if (ranks > 1) {
    told("Reduce",
         MPI_Reduce(rank == 0 ? MPI_IN_PLACE : zeros, zeros, NUMBERS, MPI_INT, op, 0, MPI_COMM_WORLD));
    told("Allreduce", MPI_Allreduce(MPI_IN_PLACE, zeros, NUMBERS, MPI_INT, op, MPI_COMM_WORLD));
    told("Scan", MPI_Scan(MPI_IN_PLACE, zeros, NUMBERS, MPI_INT, op, MPI_COMM_WORLD));
    const int code = MPI_Iallreduce(MPI_IN_PLACE, zeros, NUMBERS, MPI_INT, op, MPI_COMM_WORLD, &request);
    told("Iallreduce", code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  MPI_Op_free(&op);
}

static void memory(void) {
  void* base;
  MPI_Win window;
  const MPI_Aint size = (MPI_Aint)1 << 46;
  told("Alloc_mem", MPI_Alloc_mem(size, MPI_INFO_NULL, &base));
  told("Win_allocate", MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window));
  told("Win_allocate_shared",
       MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window));
}

static void spawning(void) {
  MPI_Comm children = MPI_COMM_NULL;
  told("Comm_spawn", MPI_Comm_spawn("/bin/true", MPI_ARGV_NULL, INT_MAX, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                                    &children, MPI_ERRCODES_IGNORE));
}

/* ---- files ---- */

static void files(const char* folder) {
  char path[4096];
  MPI_File file;
  MPI_Datatype type;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", "1099511627776");
  MPI_Info_set(info, "collective_buffering", "true");
  snprintf(path, sizeof path, "%s/data", folder);
  MPI_Type_vector(1 << 19, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) == MPI_SUCCESS,
        "MPI_File_open");
  told("File_write_all", MPI_File_write_at_all(file, 0, zeros, 2, type, MPI_STATUS_IGNORE));
  told("File_set_view", MPI_File_set_view(file, 0, MPI_INT, type, "external32", MPI_INFO_NULL));
  told("File_write_all external32", MPI_File_write_at_all(file, 0, zeros, 2, type, MPI_STATUS_IGNORE));
  MPI_File_close(&file);
  MPI_Type_free(&type);
  MPI_Info_free(&info);
}

/* ---- strings ---- */

static void strings(char* text) {
  char got[MPI_MAX_INFO_VAL + 1];
  int class, code;
  MPI_File file;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Group world;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Add_error_class(&class);
  MPI_Add_error_code(class, &code);
  told("File_open", MPI_File_open(MPI_COMM_WORLD, text, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  told("File_delete", MPI_File_delete(text, MPI_INFO_NULL));
  told("Info_set", MPI_Info_set(info, "key", text));
  told("Info_set key", MPI_Info_set(info, text, "value"));
  told("Info_delete", MPI_Info_delete(info, text));
  told("Add_error_string", MPI_Add_error_string(code, text));
  told("Comm_set_name", MPI_Comm_set_name(MPI_COMM_SELF, text));
  told("Type_set_name", MPI_Type_set_name(MPI_INT, text));
  told("Comm_create_from_group",
       MPI_Comm_create_from_group(world, text, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  told("Publish_name", MPI_Publish_name(text, MPI_INFO_NULL, "port"));
  told("Publish_name port", MPI_Publish_name("sizes", MPI_INFO_NULL, text));
  told("Lookup_name", MPI_Lookup_name(text, MPI_INFO_NULL, got));
  told("Unpublish_name", MPI_Unpublish_name(text, MPI_INFO_NULL, "port"));
  told("Comm_connect", MPI_Comm_connect(text, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm));
  told("Register_datarep",
       MPI_Register_datarep(text, MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, NULL, NULL));
  told("Comm_spawn of a long name",
       MPI_Comm_spawn(text, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm, MPI_ERRCODES_IGNORE));
  char* arguments[] = {text, NULL};
  told("Comm_spawn with a long argument", MPI_Comm_spawn("/bin/true", arguments, 1, MPI_INFO_NULL, 0,
                                                         MPI_COMM_WORLD, &comm, MPI_ERRCODES_IGNORE));
  told("Pack_external", MPI_Pack_external(text, zeros, 1, MPI_INT, ones, 4, &(MPI_Aint){0}));
  MPI_Group_free(&world);
  MPI_Info_free(&info);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(argc == 2, "sizes FOLDER");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  ones = filled(1);
  zeros = filled(0);
  char* text = malloc(BYTES + 1);
  memset(text, 'a', BYTES);
  text[BYTES] = '\0';
  told("warm", MPI_SUCCESS);
  limit_memory(SPARE);
  messages();
  datatypes();
  topologies();
  neighborhoods();
  collectives();
  memory();
  files(argv[1]);
  spawning();
  strings(text);
  limit_memory(0);
  free(text);
  MPI_Finalize();
  if (rank == 0) printf("right\n");
  return 0;
}

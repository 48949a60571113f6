// Every function that MPI 3.0 removed, as programs of the nineties call it. Run by test_removed_functions.py.
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

static int failures = 0;

#define EXPECT(condition) \
  if (!(condition)) failures += printf("line %d: not so: %s\n", __LINE__, #condition) > 0

struct particle {
  double position[3];
  char kind;
};

static int errors_seen = 0;

static void note(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  errors_seen += *code != MPI_SUCCESS;
}

static MPI_Datatype particle_type(void) {
  struct particle one;
  int lengths[2] = {3, 1};
  MPI_Aint places[2], start;
  MPI_Datatype types[2] = {MPI_DOUBLE, MPI_CHAR}, made;
  MPI_Address(&one, &start);
  MPI_Address(one.position, &places[0]);
  MPI_Address(&one.kind, &places[1]);
  places[0] -= start;
  places[1] -= start;
  EXPECT(places[1] == (MPI_Aint)offsetof(struct particle, kind));
  MPI_Type_struct(2, lengths, places, types, &made);
  MPI_Type_commit(&made);
  return made;
}

static void send_particles(int rank, int size) {
  MPI_Datatype type = particle_type();
  MPI_Aint extent = 0, lower = -1, upper = 0;
  struct particle mine = {{rank, 2, 3}, (char)('a' + rank)}, got = {{0}, 0};
  MPI_Type_extent(type, &extent);
  MPI_Type_lb(type, &lower);
  MPI_Type_ub(type, &upper);
  EXPECT(extent == (MPI_Aint)sizeof mine && lower == 0 && upper == extent);
  MPI_Sendrecv(&mine, 1, type, (rank + 1) % size, 0, &got, 1, type, (rank + size - 1) % size, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT(got.position[0] == (rank + size - 1) % size && got.kind == 'a' + (rank + size - 1) % size);
  MPI_Type_free(&type);
}

static void make_strides(void) {
  MPI_Datatype vector, indexed;
  MPI_Aint extent = 0;
  int lengths[2] = {1, 2}, bytes = 0;
  MPI_Aint places[2] = {0, 16};
  MPI_Type_hvector(2, 1, 24, MPI_INT, &vector);
  MPI_Type_extent(vector, &extent);
  EXPECT(extent == 28);
  MPI_Type_hindexed(2, lengths, places, MPI_INT, &indexed);
  MPI_Type_size(indexed, &bytes);
  EXPECT(bytes == 12);
  MPI_Type_free(&vector);
  MPI_Type_free(&indexed);
}

#ifdef MPI_LB /* the standard ABI has neither */
/* The bounds of a struct, given by members without data. */
static void mark_bounds(void) {
  int lengths[3] = {1, 1, 1}, values[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, packed[2] = {0}, place = 0,
      bytes = -1;
  MPI_Aint places[3] = {-4, 0, 20}, lower = 0, extent = 0;
  MPI_Datatype members[3] = {MPI_LB, MPI_INT, MPI_UB}, made, pair;
  EXPECT(MPI_Type_size(MPI_UB, &bytes) == MPI_SUCCESS && bytes == 0);
  MPI_Type_struct(3, lengths, places, members, &made);
  MPI_Type_commit(&made);
  MPI_Type_get_extent(made, &lower, &extent);
  EXPECT(lower == -4 && extent == 24);
  MPI_Type_size(made, &bytes);
  EXPECT(bytes == (int)sizeof(int));
  MPI_Pack(values + 1, 2, made, packed, sizeof packed, &place, MPI_COMM_SELF);
  EXPECT(place == (int)sizeof packed && packed[0] == 1 && packed[1] == 7);
  MPI_Type_contiguous(2, made, &pair);
  MPI_Type_get_extent(pair, &lower, &extent);
  EXPECT(lower == -4 && extent == 48);
  MPI_Type_free(&pair);
  MPI_Type_free(&made);
  places[1] = 17; /* one marker alone, and no padding after it */
  members[0] = MPI_INT;
  members[1] = MPI_UB;
  places[0] = 0;
  MPI_Type_create_struct(2, lengths, places, members, &made);
  MPI_Type_get_extent(made, &lower, &extent);
  EXPECT(lower == 0 && extent == 17);
  int integers[3];
  MPI_Aint addresses[2];
  MPI_Datatype types[2];
  MPI_Type_get_contents(made, 3, 2, 2, integers, addresses, types);
  EXPECT(types[0] == MPI_INT && types[1] == MPI_UB && addresses[1] == 17);
  MPI_Type_free(&made);
}
#endif

static void handle_errors(int size) {
  MPI_Errhandler noting, set;
  MPI_Errhandler_create(note, &noting);
  MPI_Errhandler_set(MPI_COMM_WORLD, noting);
  MPI_Errhandler_get(MPI_COMM_WORLD, &set);
  EXPECT(set == noting);
  MPI_Send(NULL, 0, MPI_INT, size, 0, MPI_COMM_WORLD);
  EXPECT(errors_seen == 1);
  MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&noting);
  MPI_Errhandler_free(&set);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  send_particles(rank, size);
  make_strides();
#ifdef MPI_LB
  mark_bounds();
#endif
  handle_errors(size);
  MPI_Finalize();
  if (failures == 0) printf("rank %d of %d: all is well\n", rank, size);
  return failures != 0;
}

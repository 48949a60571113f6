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
  handle_errors(size);
  MPI_Finalize();
  if (failures == 0) printf("rank %d of %d: all is well\n", rank, size);
  return failures != 0;
}

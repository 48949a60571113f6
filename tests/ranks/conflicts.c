/* Accesses to windows that conflict, one case for each name in the arguments, and ("legal") all kinds that do
   not. Prints what the errors say, and how many there were on all ranks. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { SLOTS = 64 };
static int rank, size;
static MPI_Win win;
static int* memory;
static int data[SLOTS] = {1, 2, 3, 4, 5, 6, 7, 8};
static int errors;

static void heard(MPI_Win* where, int* code, ...) {
  (void)where;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  int class;
  MPI_Error_class(*code, &class);
  MPI_Error_string(*code, text, &length);
  printf("%s %s\n", class == MPI_ERR_RMA_CONFLICT ? "conflict:" : "other error:", text);
  ++errors;
}

static void put(int target, int first, int count, int from) {
  MPI_Put(data + from, count, MPI_INT, target, first, count, MPI_INT, win);
}

static void get(int target, int first, int count) {
  static int there[SLOTS];
  MPI_Get(there, count, MPI_INT, target, first, count, MPI_INT, win);
}

static void add(int target, int first, MPI_Op op) {
  MPI_Accumulate(data, 1, MPI_INT, target, first, 1, MPI_INT, op, win);
}

/* Two ranks write the same bytes of rank 0 between two fences. */
static void two_puts(void) {
  MPI_Win_fence(0, win);
  if (rank == size - 1) put(0, 4, 2, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) put(0, 5, 2, 0);
  MPI_Win_fence(0, win);
}

/* One rank reads what it has written and not flushed. */
static void own_get(void) {
  const int target = (rank + 1) % size;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
  put(target, 8, 4, 0);
  get(target, 11, 4);
  MPI_Win_unlock(target, win);
}

static void two_operations(void) {
  MPI_Win_fence(0, win);
  if (rank == 0) add(size - 1, 0, MPI_SUM);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) add(size - 1, 0, MPI_PROD);
  MPI_Win_fence(0, win);
}

static void put_and_accumulate(void) {
  MPI_Win_lock_all(0, win);
  if (rank == 0) add(size - 1, 0, MPI_SUM);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) put(size - 1, 0, 1, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(win);
}

/* All others write into rank 0, which exposes itself to them. */
static void posted(void) {
  MPI_Group world, others, target;
  const int zero = 0;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_excl(world, 1, &zero, &others);
  MPI_Group_incl(world, 1, &zero, &target);
  if (rank == 0) {
    MPI_Win_post(others, 0, win);
    MPI_Win_wait(win);
  } else {
    MPI_Win_start(target, 0, win);
    put(0, 0, 1, rank);
    MPI_Win_complete(win);
  }
  MPI_Group_free(&world);
  MPI_Group_free(&others);
  MPI_Group_free(&target);
}

/* Columns of a matrix: bytes of one lie between those of the other. */
static void columns(void) {
  MPI_Datatype column;
  MPI_Type_vector(8, 1, 8, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Win_fence(0, win);
  if (rank < 8) MPI_Put(data, 8, MPI_INT, 0, rank, 1, column, win);
  MPI_Win_fence(0, win);
  MPI_Type_free(&column);
}

static void legal_between_fences(void) {
  MPI_Win_fence(0, win);
  if (rank < 8) put(0, rank, 1, 0);
  get(0, 16, 8);
  add(0, 40, MPI_SUM);
  add(0, 40, MPI_SUM);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 3; ++i) put(rank, 0, 4, 0); /* the same once more */
  MPI_Win_fence(0, win);
  if (rank == size - 1) put(0, 0, 4, 0);
  MPI_Win_fence(0, win);
  if (rank == 0) get(0, 0, 4);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

static void legal_under_locks(void) {
  int one = 1, zero = 0, there;
  MPI_Request request;
  MPI_Win_lock_all(0, win);
  put(rank, 0, 2, 0);
  MPI_Win_flush(rank, win);
  get(rank, 0, 2);
  MPI_Win_flush_local(rank, win);
  put(rank, 1, 2, 0);
  MPI_Win_flush_all(win);
  MPI_Rget(&there, 1, MPI_INT, rank, 1, 1, MPI_INT, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  put(rank, 1, 1, 4);
  MPI_Win_flush(rank, win);
  /* as locks and counters are made */
  MPI_Fetch_and_op(&one, &there, MPI_INT, 0, 50, MPI_SUM, win);
  MPI_Fetch_and_op(NULL, &there, MPI_INT, 0, 50, MPI_NO_OP, win);
  MPI_Fetch_and_op(&one, &there, MPI_INT, 0, 51, MPI_REPLACE, win);
  MPI_Compare_and_swap(&one, &zero, &there, MPI_INT, 0, 51, win);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 20; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    put(0, 0, 4, i % 3);
    MPI_Win_unlock(0, win);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    get(0, 0, 4);
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void legal(void) {
  columns();
  legal_between_fences();
  legal_under_locks();
}

static const struct {
  const char* name;
  void (*act)(void);
} cases[] = {
    {"puts", two_puts}, {"own", own_get}, {"operations", two_operations}, {"mixed", put_and_accumulate},
    {"posted", posted}, {"legal", legal},
};

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int flavor = argc > 2 ? argv[2][0] : 'a';
  static int own[SLOTS];
  if (flavor == 'a') {
    MPI_Win_allocate(SLOTS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  } else {
    MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  }
  MPI_Win_set_name(win, "field");
  MPI_Win_create_errhandler(heard, &handler);
  MPI_Win_set_errhandler(win, handler);
  MPI_Errhandler_free(&handler);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) cases[i].act();
  }
  int total;
  fflush(stdout);
  MPI_Allreduce(&errors, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("errors: %d\n", total);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}

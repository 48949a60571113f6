/* Programs that are slow for one known reason each, and one that is efficient: what tasuki explain is to find
   (bench/explain.py). argv[1] names the program; work is of a known length, by the process's own time. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { kMuch = 1 << 20, kMany = 400 };

static int rank, size;

static void work(double milliseconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  while ((double)(now.tv_sec - begin.tv_sec) * 1e3 + (double)(now.tv_nsec - begin.tv_nsec) * 1e-6 <
         milliseconds);
}

static void late_sender(void) {
  double x = 0;
  for (int i = 0; i < 30; ++i) {
    work(rank == 0 ? 9 : 3);
    if (rank == 0) MPI_Send(&x, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(&x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void late_receiver(void) {
  char* buffer = calloc(1, kMuch);
  for (int i = 0; i < 30; ++i) {
    work(rank == 1 ? 9 : 3);
    if (rank == 0) MPI_Ssend(buffer, kMuch, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(buffer, kMuch, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  free(buffer);
}

static void imbalance(void) {
  double x = 1, sum;
  for (int i = 0; i < 30; ++i) {
    work(rank == size - 1 ? 9 : 3);
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

static void late_root(void) {
  double x = 1;
  for (int i = 0; i < 30; ++i) {
    work(rank == 0 ? 9 : 1);
    MPI_Bcast(&x, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
}

static void small_messages(void) {
  double x = 1;
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < kMany; ++j) {
      if (rank == 0) MPI_Send(&x, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
      if (rank == 1) MPI_Recv(&x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void small_collectives(void) {
  double x = 1, sum;
  for (int i = 0; i < 100 * kMany; ++i) MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void files(void) {
  MPI_File file;
  const double x = rank;
  MPI_File_open(MPI_COMM_WORLD, "slow_programs.out",
                MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  for (int i = 0; i < 20000; ++i)
    MPI_File_write_at(file, 16 * i + 8 * rank, &x, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

/* Of memory that no other rank can reach. */
static void private_buffers(void) {
  char* buffer =
      mmap(NULL, 8 * kMuch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  for (int i = 0; i < 60; ++i) {
    if (rank == 0) MPI_Send(buffer, 8 * kMuch, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(buffer, 8 * kMuch, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/* Two of each three numbers, in blocks of 16 bytes: no other rank reads such a layout where it lies. */
static void packed_type(void) {
  MPI_Datatype two, spread;
  double* buffer = calloc(3 * kMuch, sizeof *buffer);
  const int lengths[2] = {1, 1}, places[2] = {0, 2};
  MPI_Type_indexed(2, lengths, places, MPI_DOUBLE, &two);
  MPI_Type_create_resized(two, 0, 3 * sizeof(double), &spread);
  MPI_Type_commit(&spread);
  for (int i = 0; i < 30; ++i) {
    if (rank == 0) MPI_Send(buffer, kMuch, spread, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(buffer, kMuch, spread, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Type_free(&spread);
  MPI_Type_free(&two);
  free(buffer);
}

/* Run with TASUKI_ALLREDUCE_ALGORITHM=ring. */
static void wrong_algorithm(void) {
  double x[1024] = {0}, sum[1024];
  for (int i = 0; i < 5000; ++i) MPI_Allreduce(x, sum, 1024, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void chain(void) {
  double x = 1;
  if (rank > 0) MPI_Recv(&x, 1, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  work(100);
  if (rank < size - 1) MPI_Send(&x, 1, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
}

static void efficient(void) {
  double x = 1, sum;
  for (int i = 0; i < 30; ++i) {
    work(9);
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } programs[] = {{"late_sender", late_sender},
                  {"late_receiver", late_receiver},
                  {"imbalance", imbalance},
                  {"late_root", late_root},
                  {"small_messages", small_messages},
                  {"small_collectives", small_collectives},
                  {"files", files},
                  {"private_buffers", private_buffers},
                  {"packed_type", packed_type},
                  {"wrong_algorithm", wrong_algorithm},
                  {"chain", chain},
                  {"efficient", efficient}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (size_t i = 0; i < sizeof programs / sizeof *programs; ++i) {
    if (argc > 1 && strcmp(argv[1], programs[i].name) == 0) programs[i].run();
  }
  MPI_Finalize();
  return 0;
}

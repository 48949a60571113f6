/* Which rank runs where, and a number that all of them make together: the integral of 4 / (1 + x^2) from 0 to
 * 1 is pi.
 *
 *     mpicc -O2 hello.c -o hello && mpiexec -n 4 ./hello [intervals]
 */
#define _GNU_SOURCE
#include <math.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kLineBytes = 160 };

static double part_of_pi(int rank, int size, long intervals) {
  const double width = 1.0 / (double)intervals;
  double sum = 0;
  for (long i = rank; i < intervals; i += size) {
    const double x = ((double)i + 0.5) * width;
    sum += 4.0 / (1.0 + x * x);
  }
  return sum * width;
}

/* "rank 2 of 4  host  pid 12345  on core 1 (may use 1)" */
static void describe(int rank, int size, char* line) {
  char host[MPI_MAX_PROCESSOR_NAME];
  int length;
  cpu_set_t allowed;
  MPI_Get_processor_name(host, &length);
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  snprintf(line, kLineBytes, "rank %d of %d   %.60s   pid %-7ld on core %d, may use %d", rank, size, host,
           (long)getpid(), sched_getcpu(), CPU_COUNT(&allowed));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, length, version, subversion;
  char library[MPI_MAX_LIBRARY_VERSION_STRING], line[kLineBytes] = "";
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_version(&version, &subversion);
  MPI_Get_library_version(library, &length);
  const long intervals = argc > 1 ? atol(argv[1]) : 40000000;
  if (intervals < 1) {
    if (rank == 0) fprintf(stderr, "hello: intervals = %s, expected a number of 1 or more\n", argv[1]);
    MPI_Finalize();
    return 1;
  }

  const double begin = MPI_Wtime();
  const double part = part_of_pi(rank, size, intervals);
  double pi = 0;
  MPI_Reduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - begin;

  char* lines = rank == 0 ? malloc((size_t)size * kLineBytes) : NULL;
  describe(rank, size, line);
  MPI_Gather(line, kLineBytes, MPI_CHAR, lines, kLineBytes, MPI_CHAR, 0, MPI_COMM_WORLD);

  int wrong = 0;
  if (rank == 0) {
    library[strcspn(library, "\n")] = '\0';
    printf("MPI %d.%d: %s\n", version, subversion, library);
    for (int i = 0; i < size; i++) printf("%s\n", lines + (size_t)i * kLineBytes);
    wrong = fabs(pi - acos(-1.0)) > 1e-9;
    printf("pi = %.12f (off by %.1e), %ld intervals in %.3f s%s\n", pi, fabs(pi - acos(-1.0)), intervals,
           seconds, wrong ? ": WRONG" : "");
  }
  free(lines);
  MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return wrong;
}

/* Ends rank 1 with a core dump, by the way that its argument names; before it, every rank has filled some of
 * its heap and of its static data, and has asked for far more that it does not touch. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kFilled = 8 << 20 };
static char statics[1 << 30];
char *filled, *sparse;

static void tell_and_die(int number) {
  static const char line[] = "the program's own handler\n";
  if (write(STDOUT_FILENO, line, sizeof line - 1) < 0) return;
  signal(number, SIG_DFL);
  raise(number);
}

/* A debugger stops here. */
__attribute__((noinline)) void here(void) {
  __asm__ volatile("" ::: "memory");
}

static void* default_action(int number) {
  struct sigaction action;
  sigaction(number, NULL, &action);
  return (void*)action.sa_handler;
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  filled = malloc(kFilled);
  for (int i = 0; i < kFilled; ++i) filled[i] = "heap!"[i % 5];
  sparse = malloc((size_t)4 << 30);
  strcpy(sparse + ((size_t)3 << 30), "far away");
  strcpy(statics + (1 << 29), "static data");
  if (default_action(SIGSEGV) != (void*)SIG_DFL || signal(SIGQUIT, SIG_DFL) != SIG_DFL) {
    puts("a handler that the program did not set");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  here();
  const char* how = argc > 1 ? argv[1] : "";
  if (rank == 1 && strcmp(how, "segfault") == 0) *(volatile int*)16 = 1;
  if (rank == 1 && strcmp(how, "abort") == 0) abort();
  if (rank == 1 && strcmp(how, "trap") == 0) raise(SIGTRAP);
  if (rank == 1 && strcmp(how, "handler") == 0) {
    signal(SIGABRT, tell_and_die);
    abort();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

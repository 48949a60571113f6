/* Copy relocations: a program that is not position independent has the variables of libraries that it names
 * in its own .bss, and the libraries use them there. When that is mapped from the symmetric heap they have to
 * stay the same to both: stdout, environ, optind, and a global of libc that the program changes and libc
 * reads.
 *
 * "copies: KIND" tells whether the program's stdout lies in the symmetric heap. */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "mapping.h"

static char large[1 << 20]; /* so that it is worth it */
static FILE* at_first;
static char** environment_at_first;

/* Before main, but after the heap library: what was there stays. */
__attribute__((constructor)) static void remember(void) {
  at_first = stdout;
  environment_at_first = environ;
}

static void check_environment(void) {
  CHECK(setenv("COPIES_A", "one", 1) == 0 && strcmp(getenv("COPIES_A"), "one") == 0, "setenv and getenv");
  int seen = 0; /* setenv() has made a new array: libc stored that in our environ */
  for (char** one = environ; *one != NULL; ++one) seen += strcmp(*one, "COPIES_A=one") == 0;
  CHECK(seen == 1, "environ has the new variable %d times", seen);
  static char mine[] = "COPIES_B=two";
  static char* only[] = {mine, NULL};
  char** const before = environ;
  environ = only; /* and libc reads ours */
  const char* const found = getenv("COPIES_B");
  CHECK(found != NULL && strcmp(found, "two") == 0 && getenv("COPIES_A") == NULL, "environ of our own");
  environ = before;
}

static void check_options(void) {
  char program[] = "program", a[] = "-a", b[] = "-b", value[] = "value";
  char* arguments[] = {program, a, b, value, NULL};
  CHECK(getopt(4, arguments, "ab:") == 'a' && optind == 2, "optind %d", optind);
  CHECK(getopt(4, arguments, "ab:") == 'b' && strcmp(optarg, "value") == 0 && optind == 4, "-b");
  optind = 1;
  CHECK(getopt(4, arguments, "ab:") == 'a', "again from the start");
}

static void check_stdout(void) {
  char* text = NULL;
  size_t bytes = 0;
  FILE* const memory = open_memstream(&text, &bytes);
  FILE* const before = stdout;
  CHECK(fileno(stdout) == STDOUT_FILENO, "stdout is another stream");
  stdout = memory; /* puts() of libc writes to what our stdout says */
  puts("through libc");
  fflush(memory);
  stdout = before;
  CHECK(bytes == 13 && strcmp(text, "through libc\n") == 0, "puts wrote %zu bytes", bytes);
  fclose(memory);
  free(text);
}

int main(int argc, char** argv) {
  int rank, size;
  const int kept = environ == environment_at_first && environ != NULL && stdout == at_first;
  check_environment();
  MPI_Init(&argc, &argv);
  CHECK(kept, "environ or stdout moved before main");
  check_environment();
  check_options();
  check_stdout();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (size_t i = 0; i < sizeof large; ++i) large[i] = (char)(rank == 0 ? i % 127 : 0);
  MPI_Bcast(large, (int)sizeof large, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (size_t i = 0; i < sizeof large; ++i) CHECK(large[i] == (char)(i % 127), "broadcast, byte %zu", i);
  printf("copies: %s\n", kind_of((void*)&stdout));
  MPI_Finalize();
  return 0;
}

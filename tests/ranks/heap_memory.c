/* Memory that a program frees goes back to the system, and advice is as on private memory. Needs no messages.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"

enum { MIB = 1 << 20, PAGE = 4096 };

/* Of this process, in MiB: private and shared. */
static long resident(void) {
  long pages = 0, all = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%ld %ld", &all, &pages) == 2, "statm");
  fclose(file);
  return pages / (MIB / PAGE);
}

static void check_given_back(size_t bytes, int count) {
  void** blocks = malloc(sizeof(void*) * (size_t)count);
  const long before = resident();
  for (int i = 0; i < count; ++i) {
    blocks[i] = malloc(bytes);
    CHECK(blocks[i] != NULL, "malloc");
    memset(blocks[i], 1, bytes);
  }
  const long full = resident();
  for (int i = 0; i < count; ++i) free(blocks[i]);
  const long after = resident();
  const long taken = (long)(bytes * (size_t)count / MIB);
  CHECK(full - before >= taken * 2 / 3, "%ld MiB taken, %ld to see", taken, full - before);
  CHECK(after - before <= taken / 2, "%ld MiB freed, %ld kept", taken, after - before);
  free(blocks);
}

static void check_advice(void) {
  char* block = aligned_alloc(PAGE, MIB);
  memset(block, 7, MIB);
  CHECK(madvise(block + PAGE, 2 * PAGE, MADV_DONTNEED) == 0, "madvise");
  CHECK(block[PAGE] == 0 && block[3 * PAGE - 1] == 0, "MADV_DONTNEED left what was there");
  CHECK(block[PAGE - 1] == 7 && block[3 * PAGE] == 7, "MADV_DONTNEED took too much");
  free(block);
  /* What is made of given back memory is zero all the same. */
  char* zero = calloc(MIB, 1);
  for (int i = 0; i < MIB; ++i) CHECK(zero[i] == 0, "calloc");
  free(zero);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  check_given_back((size_t)128 * MIB, 1);
  check_given_back((size_t)8 * MIB, 16);
  check_given_back((size_t)64 * 1024, 2048);
  check_advice();
  printf("memory: right\n");
  MPI_Finalize();
  return 0;
}

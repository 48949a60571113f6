/* malloc() & co. under mpiexec --heap=…: they keep their promises, whichever thread frees, however many come
 * and go, and when the symmetric heap is full. "global" or "private" as first argument: what is expected of
 * malloc. No messages but what MPI_Init and MPI_Finalize need, so that nothing but the heap is looked at. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { THREADS = 8, BLOCKS = 600, WAVES = 4 };

static int expect_global;
static uintptr_t symmetric_heap_begin, symmetric_heap_end;

/* Where this rank's symmetric heap is: the mappings side by side, of the file of that name, that hold what
 * malloc gives. */
static void find_symmetric_heap(void) {
  char line[512];
  void* block = malloc(1);
  unsigned long run_begin = 0, run_end = 0, run_file = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long begin, end, file;
    if (strstr(line, "tasuki-heap-") == NULL) continue;
    if (sscanf(line, "%lx-%lx %*s %*s %*s %lu", &begin, &end, &file) != 3) continue;
    if (begin != run_end || file != run_file) run_begin = begin;
    run_end = end;
    run_file = file;
    if ((uintptr_t)block < run_begin || (uintptr_t)block >= run_end) continue;
    symmetric_heap_begin = run_begin;
    symmetric_heap_end = run_end;
  }
  fclose(maps);
  free(block);
}

static int is_global(const void* block) {
  const uintptr_t address = (uintptr_t)block;
  return address >= symmetric_heap_begin && address < symmetric_heap_end;
}

static int is_filled(const unsigned char* block, unsigned char value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    if (block[i] != value) return 0;
  }
  return 1;
}

static void check_promises(void) {
  for (size_t bytes = 0; bytes < 5u << 20; bytes = bytes * 3 / 2 + 7) {
    unsigned char* block = malloc(bytes);
    CHECK(block != NULL && (uintptr_t)block % 16 == 0, "malloc(%zu) = %p", bytes, (void*)block);
    CHECK(is_global(block) == expect_global, "malloc(%zu) = %p", bytes, (void*)block);
    CHECK(malloc_usable_size(block) >= bytes, "%zu usable of %zu", malloc_usable_size(block), bytes);
    memset(block, 7, bytes);
    block = realloc(block, 2 * bytes + 1);
    CHECK(is_filled(block, 7, bytes), "realloc from %zu bytes", bytes);
    block = realloc(block, bytes / 2 + 1);
    CHECK(is_filled(block, 7, bytes / 2), "realloc to %zu bytes", bytes / 2 + 1);
    free(block);
    block = calloc(bytes + 1, 1);
    CHECK(is_filled(block, 0, bytes + 1), "calloc(%zu)", bytes + 1);
    free(block);
  }
  for (size_t alignment = 1; alignment <= 64u << 20; alignment *= 2) {
    void* block = memalign(alignment, 100);
    CHECK(block != NULL && (uintptr_t)block % alignment == 0, "memalign(%zu) = %p", alignment, block);
    memset(block, 1, 100);
    free(block);
    if (alignment < sizeof(void*)) continue;
    CHECK(posix_memalign(&block, alignment, 3000) == 0, "posix_memalign(%zu)", alignment);
    CHECK((uintptr_t)block % alignment == 0, "posix_memalign(%zu) = %p", alignment, block);
    free(block);
  }
  /* What was freed serves the same request again: its pages are there. */
  for (size_t bytes = 65536; expect_global && bytes <= 8u << 20; bytes += bytes / 16 / 16 * 16) {
    for (size_t alignment = 16; alignment <= 4096; alignment *= 16) {
      void* block = memalign(alignment, bytes);
      const uintptr_t first = (uintptr_t)block;
      free(block);
      block = memalign(alignment, bytes);
      CHECK((uintptr_t)block == first, "memalign(%zu, %zu) = %#lx, and then %p", alignment, bytes, first,
            block);
      free(block);
    }
  }
  void* block = valloc(1);
  CHECK((uintptr_t)block % 4096 == 0, "valloc = %p", block);
  free(block);
  block = pvalloc(1);
  CHECK(malloc_usable_size(block) >= 4096, "pvalloc gave %zu bytes", malloc_usable_size(block));
  free(block);
}

static void check_refusals(void) {
  void* block = (void*)&block;
  CHECK(posix_memalign(&block, 3, 8) == EINVAL && block == (void*)&block, "posix_memalign(3)");
  volatile size_t huge = SIZE_MAX / 2 + 2;
  errno = 0;
  CHECK(calloc(huge, 2) == NULL && errno == ENOMEM, "calloc of more than there are numbers");
  errno = 0;
  CHECK(malloc(huge) == NULL && errno == ENOMEM, "malloc(%zu)", huge);
  char* kept = strdup("kept");
  errno = 0;
  /* The compiler would take it that a block is gone after realloc(). */
  void* (*volatile resize)(void*, size_t) = realloc;
  void* (*volatile resize_array)(void*, size_t, size_t) = reallocarray;
  CHECK(resize(kept, huge) == NULL && errno == ENOMEM && strcmp(kept, "kept") == 0, "realloc(%zu)", huge);
  CHECK(resize_array(kept, huge, 16) == NULL && strcmp(kept, "kept") == 0, "reallocarray");
  free(kept);
  errno = 77;
  free(malloc(100));
  CHECK(errno == 77, "errno = %d", errno);
}

/* Larger than what is left of the symmetric heap: libc's, or refused, but never an end. */
static void check_full_symmetric_heap(void) {
  const size_t symmetric_heap_bytes = symmetric_heap_end - symmetric_heap_begin;
  if (!expect_global) return;
  unsigned char* first = malloc(symmetric_heap_bytes / 4 * 3);
  unsigned char* second = malloc(symmetric_heap_bytes / 4 * 3);
  CHECK(is_global(first), "the symmetric heap has room for %p", (void*)first);
  CHECK(!is_global(second), "%p cannot be in the symmetric heap too", (void*)second);
  first[symmetric_heap_bytes / 2] = 1;
  if (second != NULL) second[symmetric_heap_bytes / 2] = 1;
  free(second);
  free(first);
  first = malloc(symmetric_heap_bytes / 4 * 3);
  CHECK(is_global(first), "what was freed can be had again");
  free(first);
}

/* Each thread fills blocks and frees those that its neighbour made in the wave before. */
static unsigned char* blocks[2][THREADS][BLOCKS];
struct Job {
  int wave, thread;
};

static size_t bytes_of(int index) {
  return (size_t)(index * 37 % 3000 + 1) * (index % 200 == 0 ? 100 : 1);
}

static void* work(void* argument) {
  const struct Job* job = argument;
  unsigned char** mine = blocks[job->wave % 2][job->thread];
  unsigned char** others = blocks[(job->wave + 1) % 2][(job->thread + 1) % THREADS];
  for (int i = 0; i < BLOCKS; ++i) {
    const size_t bytes = bytes_of(i);
    mine[i] = malloc(bytes);
    memset(mine[i], i & 255, bytes);
    if (others[i] == NULL) continue;
    CHECK(is_filled(others[i], (unsigned char)(i & 255), bytes), "block %d of wave %d", i, job->wave);
    free(others[i]);
    others[i] = NULL;
  }
  return NULL;
}

static long resident_kib(void) {
  long kib = 0;
  char line[256];
  FILE* status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status) != NULL) sscanf(line, "VmRSS: %ld", &kib);
  fclose(status);
  return kib;
}

static void run_wave(int wave) {
  pthread_t threads[THREADS];
  struct Job jobs[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    jobs[i] = (struct Job){wave, i};
    CHECK(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0, "pthread_create");
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

/* Memory that dead threads leave is used again: the process does not grow from wave to wave. */
static void check_threads(void) {
  for (int wave = 0; wave < WAVES; ++wave) run_wave(wave);
  const long before = resident_kib();
  for (int wave = 0; wave < 3 * WAVES; ++wave) run_wave(wave);
  const long after = resident_kib();
  CHECK(after < 2 * before + 20000, "%ld KiB resident, %ld before", after, before);
}

/* A destructor of thread-specific data that allocates runs after the thread's heap was given up. */
static pthread_key_t late_key;
static void late(void* block) {
  free(block);
  void* other = malloc(100);
  memset(other, 1, 100);
  free(other);
}
static void* leave_late(void* argument) {
  pthread_setspecific(late_key, malloc(1000));
  return argument;
}

static void check_late_frees(void) {
  CHECK(pthread_key_create(&late_key, late) == 0, "pthread_key_create");
  for (int i = 0; i < 50; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, leave_late, NULL) == 0, "pthread_create");
    pthread_join(thread, NULL);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  expect_global = argc > 1 && strcmp(argv[1], "global") == 0;
  find_symmetric_heap();
  CHECK((symmetric_heap_begin != 0) == expect_global, "the symmetric heap is at %#lx",
        (unsigned long)symmetric_heap_begin);
  check_promises();
  check_refusals();
  check_full_symmetric_heap();
  check_threads();
  check_late_frees();
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("heap: right at %d, %#lx\n", rank, (unsigned long)symmetric_heap_begin);
  MPI_Finalize();
  return 0;
}

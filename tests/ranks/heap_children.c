/* A rank whose heap is global makes children: by fork(), once and a thousand times, out of threads, out of a
 * stack that malloc() gave, and grandchildren; by vfork, posix_spawn, system and popen. What a child does to
 * its memory must not be seen by its parent, nor the other way. One line "children: right" from each rank. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

enum { THREADS = 3, SLOTS = 64, TABLE = 1 << 20, BLOCK = 3 << 20 };

extern char** environ;

static int table[TABLE];                                /* .bss: moved to the symmetric heap */
static int initialised[20000] = {1, 2, 3, [19999] = 4}; /* .data */
static char* block;
static char* text;
static atomic_int ends;

static void fill(void) {
  block = malloc(BLOCK);
  text = malloc(100);
  CHECK(block != NULL && text != NULL, "malloc");
  memset(block, 7, BLOCK);
  strcpy(text, "parent");
  for (int i = 0; i < TABLE; i += 1000) table[i] = i;
}

static int is_filled(const char* memory, char value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    if (memory[i] != value) return 0;
  }
  return 1;
}

/* Whether all is as fill() left it. */
static int is_parents(void) {
  if (!is_filled(block, 7, BLOCK) || strcmp(text, "parent") != 0) return 0;
  for (int i = 0; i < TABLE; ++i) {
    if (table[i] != (i % 1000 == 0 ? i : 0)) return 0;
  }
  return initialised[0] == 1 && initialised[2] == 3 && initialised[19999] == 4;
}

/* What a child does that never execs: it overwrites all, and goes on allocating. */
static int change_everything(void) {
  memset(block, 9, BLOCK);
  strcpy(text, "child");
  memset(table, 1, sizeof table);
  memset(initialised, 1, sizeof initialised);
  for (size_t i = 0; i < 300; ++i) {
    char* taken = malloc(i * i);
    if (taken == NULL) return 11;
    memset(taken, (int)i, i * i);
    if (i % 3 != 0) free(taken);
  }
  free(text);
  text = calloc(1, 100);
  block = realloc(block, 2 * (size_t)BLOCK);
  return block != NULL && text[50] == 0 && is_filled(block, 9, BLOCK) ? 0 : 12;
}

static int status_of(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

/* `generations` of children below this one; each looks at its own memory after its child ended. */
static int live(int generations) {
  if (!is_parents()) return 21;
  if (generations == 0) return change_everything();
  const pid_t child = fork();
  if (child == 0) _exit(live(generations - 1));
  if (status_of(child) != 0) return 22;
  return is_parents() ? change_everything() : 23;
}

static void check_fork(void) {
  for (int generations = 0; generations < 3; ++generations) {
    const pid_t child = fork();
    if (child == 0) _exit(live(generations));
    const int status = status_of(child);
    CHECK(status == 0, "child of %d generations ended with 0x%x", generations, status);
    CHECK(is_parents(), "a child changed its parent's memory");
  }
}

/* The child sees what was, not what the parent does after fork() returned. */
static void check_later_changes(void) {
  int go[2], answer[2];
  CHECK(pipe(go) == 0 && pipe(answer) == 0, "pipe");
  const pid_t child = fork();
  if (child == 0) {
    char token;
    _exit(read(go[0], &token, 1) == 1 && is_parents() ? 0 : 31);
  }
  strcpy(text, "changed");
  table[1] = 77;
  block[5] = 5;
  CHECK(write(go[1], "x", 1) == 1, "write");
  const int status = status_of(child);
  CHECK(status == 0, "a child saw what its parent wrote later: 0x%x", status);
  strcpy(text, "parent");
  table[1] = 0;
  block[5] = 7;
  close(go[0]), close(go[1]), close(answer[0]), close(answer[1]);
}

static void check_many(int count) {
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0, "fork: %s", strerror(errno));
    if (child == 0) {
      char* taken = malloc(1000);
      strcpy(text, "child");
      _exit(taken != NULL ? 0 : 41);
    }
    CHECK(status_of(child) == 0 && strcmp(text, "parent") == 0, "fork %d", i);
  }
}

static void* churn(void* unused) {
  (void)unused;
  void* held[SLOTS] = {0};
  for (unsigned number = 1; !atomic_load(&ends);) {
    number = number * 1103515245 + 12345;
    const unsigned slot = number >> 16 & (SLOTS - 1);
    free(held[slot]);
    held[slot] = malloc((number >> 8) % 5000 + 1);
    CHECK(held[slot] != NULL, "malloc in a thread");
  }
  for (int i = 0; i < SLOTS; ++i) free(held[i]);
  return NULL;
}

/* The other threads are in the middle of malloc and free most of the time: the child's heap must be whole. */
static void* fork_often(void* forks) {
  for (int i = 0; i < *(int*)forks; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0, "fork: %s", strerror(errno));
    if (child == 0) {
      alarm(20);
      for (size_t k = 0; k < 2000; ++k) free(malloc(k * 7));
      _exit(0);
    }
    const int status = status_of(child);
    CHECK(status == 0, "child %d of a process with threads ended with 0x%x", i, status);
  }
  return NULL;
}

static void check_threads(void) {
  pthread_t threads[THREADS + 2];
  int forks = 20;
  for (int i = 0; i < THREADS; ++i) CHECK(pthread_create(&threads[i], NULL, churn, NULL) == 0, "thread");
  for (int i = 0; i < 2; ++i) {
    CHECK(pthread_create(&threads[THREADS + i], NULL, fork_often, &forks) == 0, "thread");
  }
  for (int i = 0; i < 2; ++i) pthread_join(threads[THREADS + i], NULL);
  atomic_store(&ends, 1);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

static ucontext_t main_context;
static int stack_status = -1, stack_kept;

static void fork_here(void) {
  volatile char local[64];
  strcpy((char*)local, "parent");
  const pid_t child = fork();
  if (child == 0) {
    memset((void*)local, 'c', sizeof local);
    _exit(local[0] == 'c' ? 0 : 51);
  }
  stack_status = status_of(child);
  stack_kept = strcmp((char*)local, "parent") == 0;
}

static void check_stack_of_malloc(void) {
  enum { STACK = 1 << 17 };
  ucontext_t context;
  void* stack = malloc(STACK);
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = STACK;
  context.uc_link = &main_context;
  makecontext(&context, fork_here, 0);
  swapcontext(&main_context, &context);
  CHECK(stack_status == 0 && stack_kept, "fork on a stack of malloc: 0x%x", stack_status);
  free(stack);
}

static void check_programs(void) {
  char* arguments[] = {"true", NULL};
  pid_t child = vfork();
  if (child == 0) {
    execvp("true", arguments);
    _exit(61);
  }
  CHECK(status_of(child) == 0, "vfork");
  CHECK(posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0, "posix_spawn");
  CHECK(status_of(child) == 0, "posix_spawn");
  CHECK(system("exit 3") == 3 << 8, "system");
  char line[20] = "";
  FILE* stream = popen("echo from a pipe", "r");
  CHECK(stream != NULL && fgets(line, sizeof line, stream) != NULL && pclose(stream) == 0, "popen");
  CHECK(strcmp(line, "from a pipe\n") == 0, "popen: %s", line);
}

/* The program has closed the symmetric heap's descriptor, and another file has its number; or none can be
 * opened. */
static void check_without_descriptors(int close_all) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  struct rlimit none = limit;
  if (close_all) {
    for (int fd = 3; fd < 2000; ++fd) close(fd);
    for (int fd = 3; fd < 1100 && (rlim_t)fd < limit.rlim_cur; ++fd) CHECK(dup(2) == fd, "dup");
  } else {
    none.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &none);
  }
  check_fork();
  setrlimit(RLIMIT_NOFILE, &limit);
}

/* A child that can have no copy ends with a line; its parent goes on. */
static void check_no_memory(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_AS, &limit);
  struct rlimit little = limit;
  little.rlim_cur = 1 << 20;
  CHECK(setrlimit(RLIMIT_AS, &little) == 0, "setrlimit");
  const pid_t child = fork();
  if (child == 0) _exit(0);
  setrlimit(RLIMIT_AS, &limit);
  const int status = child > 0 ? status_of(child) : -1;
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 71, "child without memory: 0x%x", status);
  CHECK(is_parents(), "the parent was hurt");
}

int main(int argc, char** argv) {
  int rank;
  fill();
  const char* part = argc > 1 ? argv[1] : "";
  if (strcmp(part, "before") == 0) check_fork();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(part, "fork") == 0)
    check_fork(), check_later_changes(), check_many(argc > 2 ? atoi(argv[2]) : 50);
  if (strcmp(part, "threads") == 0) check_threads(), check_fork();
  if (strcmp(part, "stack") == 0) check_stack_of_malloc();
  if (strcmp(part, "programs") == 0) check_programs();
  if (strcmp(part, "no_memory") == 0) check_no_memory();
  if (strcmp(part, "no_descriptors") == 0) check_without_descriptors(0);
  CHECK(is_parents(), "memory was changed");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (strcmp(part, "closed") == 0) check_without_descriptors(1);
  printf("children: right\n");
  return 0;
}

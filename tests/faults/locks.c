/* Holding what other ranks wait for: locks FILE WHAT [open | enter]
 *
 * One rank (rank 0, but for `connect`) stops amid WHAT, while it holds a lock or has half written what others
 * read. In most cases it reads from a page that it may not read, and the handler of that fault stops it.
 * Where nothing of the program's is read under the lock it runs a call instruction by instruction, and stops
 * behind the first compare-and-swap of the library (x86-64). Every rank says its process number first. The
 * test kills the rank then, or lets it go on: then all ends well. With `open` and `enter` the ranks are two
 * jobs: the first one writes its port to FILE.port, and the other one connects.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "../ranks/check.h"

enum { kBytes = 1 << 20, kPage = 4096, kMany = 64 };

static int rank, ranks;
static MPI_Comm all; /* MPI_COMM_WORLD, or the ranks of two jobs */
static char* trap;   /* a page that rank 0 may not read until it has gone on; others may */
static char* trapped;
static size_t trapped_bytes; /* what rank 0 may not touch: `trap`, or other memory */

static char stopped_name[4096]; /* a file, which is there once the rank is about to stop */

static void stop_here(void) {
  close(open(stopped_name, O_CREAT | O_WRONLY, 0600));
  raise(SIGSTOP);
}

static void stop(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  if ((char*)info->si_addr < trapped || (char*)info->si_addr >= trapped + trapped_bytes) _exit(3);
  stop_here();
  mprotect(trapped, trapped_bytes, PROT_READ | PROT_WRITE);
}

static void trap_at(void* place, size_t bytes) {
  trapped = place;
  trapped_bytes = bytes;
  CHECK(mprotect(trapped, trapped_bytes, PROT_NONE) == 0, "mprotect");
}

/* ----- a call, instruction by instruction ----- */

static int is_stepped;
static const unsigned char *code, *code_end; /* of the library */

#if defined(__x86_64__)
enum { kTrapFlag = 0x100 };

/* lock cmpxchg, with or without a prefix for more registers. */
static int is_claim(const unsigned char* at) {
  if (at < code || at >= code_end || *at++ != 0xf0) return 0;
  if ((*at & 0xf0) == 0x40) ++at;
  return at[0] == 0x0f && at[1] == 0xb1;
}

static void step(int number, siginfo_t* info, void* context) {
  static const unsigned char* last; /* the instruction that has just been executed */
  (void)number, (void)info;
  greg_t* const registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  if (is_claim(last)) {
    registers[REG_EFL] &= ~(greg_t)kTrapFlag;
    stop_here();
  }
  last = (const unsigned char*)registers[REG_RIP];
}

static void begin_steps(void) {
  struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
  const unsigned char* const inside = dlsym(RTLD_DEFAULT, "PMPI_Put");
  char line[4096];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (inside >= code_end && fgets(line, sizeof line, maps) != NULL)
    CHECK(sscanf(line, "%p-%p", (void**)&code, (void**)&code_end) == 2, "%s", line);
  fclose(maps);
  CHECK(code <= inside && inside < code_end, "no code of the library");
  sigaction(SIGTRAP, &action, NULL);
  __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | kTrapFlag);
}
#else
static void begin_steps(void) {
  CHECK(0, "x86-64 alone can run instruction by instruction");
}
#endif

/* ----- what rank 0 stops in ----- */

static void set_trap(void) {
  struct sigaction action = {.sa_sigaction = stop, .sa_flags = SA_SIGINFO};
  trap = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(trap != MAP_FAILED, "mmap");
  for (int i = 0; i < kBytes / 8; ++i) ((long*)trap)[i] = 1;
  if (rank != 0 || is_stepped) return;
  sigaction(SIGSEGV, &action, NULL);
  trap_at(trap, kBytes);
}

/* The others go on once rank 0 is about to stop. */
static void after_rank_0(void) {
  MPI_Barrier(all);
  while (rank != 0 && access(stopped_name, F_OK) != 0) usleep(1000);
  if (rank == 0 && is_stepped) begin_steps();
}

/* Accumulates: `first` elements of rank 0, `others` of each other rank, to rank 1's part. */
static void accumulate(MPI_Datatype type, MPI_Op op, int first, int others) {
  MPI_Win window;
  char* part;
  MPI_Aint lower, extent;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Win_allocate(kMany * extent, 1, MPI_INFO_NULL, all, &part, &window);
  memset(part, 0, (size_t)(kMany * extent));
  MPI_Win_lock_all(0, window);
  after_rank_0();
  for (int turn = 0; turn < 3; ++turn) {
    MPI_Accumulate(trap, rank == 0 ? first : others, type, 1, 0, rank == 0 ? first : others, type, op,
                   window);
    MPI_Win_flush(1, window);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(all);
  if (rank == 1 && type == MPI_LONG) CHECK(*(long*)part == 3 * ranks, "sum %ld", *(long*)part);
  MPI_Win_free(&window);
}

static void lock_window(void) {
  MPI_Win window;
  long* part;
  MPI_Win_allocate(sizeof *part, 1, MPI_INFO_NULL, all, &part, &window);
  *part = 0;
  after_rank_0();
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
  MPI_Put(trap, 1, MPI_LONG, 1, 0, 1, MPI_LONG, window);
  MPI_Win_unlock(1, window);
  MPI_Win_free(&window);
}

/* With TASUKI_CHECK=3 each access is entered in the target's table of accesses. */
static void enter_accesses(void) {
  MPI_Win window;
  long *part, one = 1;
  MPI_Win_allocate(ranks * sizeof *part, sizeof *part, MPI_INFO_NULL, all, &part, &window);
  MPI_Win_lock_all(0, window);
  after_rank_0();
  MPI_Put(&one, 1, MPI_LONG, 1, rank, 1, MPI_LONG, window);
  MPI_Win_unlock_all(window);
  MPI_Barrier(all);
  if (rank == 1) CHECK(part[0] == 1 && part[ranks - 1] == 1, "what was put");
  MPI_Win_free(&window);
}

/* A large put, which the target helps with while it waits. */
static void put(void) {
  MPI_Win window;
  char* part;
  MPI_Win_allocate(kBytes, 1, MPI_INFO_NULL, all, &part, &window);
  MPI_Win_fence(0, window);
  if (rank == 0) MPI_Put(trap, kBytes, MPI_CHAR, 1, 0, kBytes, MPI_CHAR, window);
  MPI_Win_fence(0, window);
  if (rank == 1) CHECK(((long*)part)[kBytes / 8 - 1] == 1, "the end of what was put");
  MPI_Win_free(&window);
}

/* A large put to rank 0, which helps with it while it waits, or reads it then. */
static void help(void) {
  MPI_Win window;
  char* part;
  enum { kLarge = 16 * kBytes };
  MPI_Win_allocate(kLarge, 1, MPI_INFO_NULL, all, &part, &window);
  char* from = calloc(1, kLarge);
  from[kLarge - 1] = 1;
  MPI_Win_fence(0, window);
  if (rank == 0) mprotect(trap, kBytes, PROT_READ | PROT_WRITE);
  if (rank == 0) trap_at((char*)(((size_t)part + kPage - 1) / kPage * kPage), kLarge - 2 * kPage);
  MPI_Barrier(all);
  if (rank == 1) MPI_Put(from, kLarge, MPI_CHAR, 0, 0, kLarge, MPI_CHAR, window);
  MPI_Win_fence(0, window);
  if (rank == 0) CHECK(part[kLarge / 2] == 0 && part[kLarge - 1] == 1, "what rank 1 put");
  MPI_Barrier(all);
  free(from);
  MPI_Win_free(&window);
}

/* Every second long of a file, in reads, changes and writes of ranges that the ranks lock. */
static void write_ranges(const char* path) {
  MPI_File file;
  MPI_Info info;
  MPI_Datatype every_second;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_ds_write", "enable");
  MPI_Type_create_resized(MPI_LONG, 0, 2 * sizeof(long), &every_second);
  MPI_Type_commit(&every_second);
  MPI_File_open(all, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file);
  MPI_File_set_size(file, kBytes);
  MPI_File_set_view(file, 0, MPI_LONG, every_second, "native", info);
  after_rank_0();
  const int error = MPI_File_write_at(file, 0, trap, kMany * 8, MPI_LONG, MPI_STATUS_IGNORE);
  CHECK(error == MPI_SUCCESS, "MPI_File_write_at: %d", error);
  MPI_File_close(&file);
  MPI_Type_free(&every_second);
  MPI_Info_free(&info);
}

static void bcast(int bytes) {
  char into[kPage] = {0};
  for (int turn = 0; turn < 3; ++turn) MPI_Bcast(rank == 0 ? trap : into, bytes, MPI_CHAR, 0, all);
  if (rank != 0) CHECK(*(long*)into == 1, "what was sent");
}

static void send_all(int bytes) {
  char* into = malloc(kBytes);
  if (rank == 0) {
    for (int to = 1; to < ranks; ++to) MPI_Send(trap, bytes, MPI_CHAR, to, 0, all);
  } else {
    MPI_Recv(into, bytes, MPI_CHAR, 0, 0, all, MPI_STATUS_IGNORE);
    CHECK(*(long*)into == 1, "what was sent");
  }
  free(into);
}

/* The ranks of the job that opens a port and of the one that connects, in this order. */
static void meet(const char* path, int opens, const char* what) {
  char port[MPI_MAX_PORT_NAME] = "", name[4096], written[4096];
  MPI_Comm inter;
  snprintf(name, sizeof name, "%s.port", path);
  snprintf(written, sizeof written, "%s.new", path);
  if (opens) {
    MPI_Open_port(MPI_INFO_NULL, port);
    FILE* file = fopen(written, "w");
    fputs(port, file);
    fclose(file);
    rename(written, name);
    if (rank == 0 && strcmp(what, "accept") == 0) begin_steps();
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  } else {
    FILE* file;
    while ((file = fopen(name, "r")) == NULL) usleep(1000);
    CHECK(fgets(port, sizeof port, file) != NULL, "a port in %s", name);
    fclose(file);
    if (rank == 0 && strcmp(what, "connect") == 0) begin_steps();
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  }
  MPI_Intercomm_merge(inter, !opens, &all);
}

int main(int argc, char** argv) {
  const char* what = argc < 3 ? "" : argv[2];
  is_stepped = strcmp(what, "table") == 0 || strcmp(what, "gate") == 0;
  if (strcmp(what, "table") == 0) setenv("TASUKI_CHECK", "3", 1);
  MPI_Init(&argc, &argv);
  CHECK(argc == 3 || argc == 4, "usage: locks FILE WHAT [open | enter]");
  snprintf(stopped_name, sizeof stopped_name, "%s.stopped", argv[1]);
  all = MPI_COMM_WORLD;
  MPI_Comm_rank(all, &rank);
  printf("%d %d\n", rank, (int)getpid());
  fflush(stdout);
  if (argc == 4) meet(argv[1], strcmp(argv[3], "open") == 0, what);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &ranks);
  CHECK(ranks > 1, "%d ranks, expected more than one", ranks);
  set_trap();
  MPI_Barrier(all);
  if (strcmp(what, "elements") == 0) accumulate(MPI_LONG, MPI_SUM, kMany, kMany);
  if (strcmp(what, "pairs") == 0) accumulate(MPI_DOUBLE_INT, MPI_MINLOC, kMany, kMany);
  if (strcmp(what, "odd") == 0) accumulate(MPI_LONG_DOUBLE, MPI_SUM, 1, 1);
  if (strcmp(what, "instruction") == 0) accumulate(MPI_LONG, MPI_SUM, 1, kMany); /* others change the way */
  if (strcmp(what, "table") == 0) enter_accesses();
  if (strcmp(what, "gate") == 0) write_ranges(argv[1]);
  if (strcmp(what, "window") == 0) lock_window();
  if (strcmp(what, "put") == 0) put();
  if (strcmp(what, "helper") == 0) help();
  if (strcmp(what, "ranges") == 0) write_ranges(argv[1]);
  if (strcmp(what, "flags") == 0) bcast(64);
  if (strcmp(what, "stages") == 0) bcast(kPage);
  if (strcmp(what, "ring") == 0) send_all(1000);
  if (strcmp(what, "copy") == 0) send_all(kBytes);
  MPI_Finalize();
  if (rank == 0) printf("all ended well\n");
  return 0;
}

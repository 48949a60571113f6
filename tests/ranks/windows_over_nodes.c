/* Windows whose ranks are on several nodes. argv[1] says what to do:

   memory    nothing that is made for a window is mapped by ranks of different nodes
   locks     every rank takes exclusive and shared locks of every other: none is ever held beside a writer's,
             and all come to an end
   dies N    rank N dies while it holds the lock that all others want */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { INODES = 512 };
static int rank, size;

/* The memory that this process shares with others: the numbers of the files behind its shared mappings. */
static int shared_mappings(unsigned long* inodes) {
  char line[512], flags[8];
  int count = 0;
  unsigned long inode;
  FILE* maps = fopen("/proc/self/maps", "r");
  CHECK(maps != NULL, "/proc/self/maps");
  while (fgets(line, sizeof line, maps) != NULL) {
    if (sscanf(line, "%*s %7s %*s %*s %lu", flags, &inode) != 2 || flags[3] != 's' || inode == 0) continue;
    int known = 0;
    for (int i = 0; i < count; ++i) known |= inodes[i] == inode;
    CHECK(count < INODES, "more mappings than expected");
    if (!known) inodes[count++] = inode;
  }
  fclose(maps);
  return count;
}

static int is_among(unsigned long inode, const unsigned long* inodes, int count) {
  for (int i = 0; i < count; ++i) {
    if (inodes[i] == inode) return 1;
  }
  return 0;
}

static void use(MPI_Win win, const MPI_Aint* places) {
  const long one = 1;
  const int right = (rank + 1) % size;
  MPI_Win_fence(0, win);
  MPI_Put(&one, 1, MPI_LONG, right, places[right], 1, MPI_LONG, win);
  MPI_Win_fence(0, win);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
  MPI_Accumulate(&one, 1, MPI_LONG, right, places[right], 1, MPI_LONG, MPI_SUM, win);
  MPI_Win_unlock(right, win);
  MPI_Win_lock_all(0, win);
  MPI_Win_unlock_all(win);
}

/* Which memory ranks of two nodes both map, after windows of each kind were made and used, and not before. */
static void memory(void) {
  unsigned long before[INODES], after[INODES], *all = malloc(sizeof(unsigned long) * INODES * (size_t)size);
  long* base;
  char name[MPI_MAX_PROCESSOR_NAME] = {0}, *names = malloc((size_t)size * MPI_MAX_PROCESSOR_NAME);
  int length, crossing = 0, mine = 0;
  static long own[2];
  MPI_Win win[3];
  MPI_Aint *places = calloc((size_t)size, sizeof *places), place;
  MPI_Get_processor_name(name, &length);
  MPI_Allgather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, MPI_COMM_WORLD);
  const int before_count = shared_mappings(before);
  MPI_Win_create(own, sizeof own, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win[0]);
  MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win[1]);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win[2]);
  MPI_Win_attach(win[2], &own[1], sizeof(long));
  use(win[0], places);
  use(win[1], places);
  MPI_Get_address(&own[1], &place);
  MPI_Allgather(&place, 1, MPI_AINT, places, 1, MPI_AINT, MPI_COMM_WORLD);
  use(win[2], places);
  const int after_count = shared_mappings(after);
  memset(after + after_count, 0, sizeof(unsigned long) * (size_t)(INODES - after_count));
  MPI_Allgather(after, INODES, MPI_UNSIGNED_LONG, all, INODES, MPI_UNSIGNED_LONG, MPI_COMM_WORLD);
  for (int i = 0; i < after_count; ++i) {
    if (is_among(after[i], before, before_count)) continue;
    ++mine;
    for (int other = 0; other < size; ++other) {
      if (strcmp(name, names + other * MPI_MAX_PROCESSOR_NAME) != 0)
        crossing += is_among(after[i], all + other * INODES, INODES);
    }
  }
  CHECK(crossing == 0, "%d of %d new mappings are shared with another node", crossing, mine);
  for (int i = 0; i < 3; ++i) MPI_Win_free(&win[i]);
  free(places);
  free(names);
  free(all);
}

/* Slots 0 and 1 count the writers, and are equal but while one is at work; slot 2 counts the readers. */
static void locks(void) {
  enum { ROUNDS = 40 };
  long* base;
  MPI_Win win;
  MPI_Win_allocate(3 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  memset(base, 0, 3 * sizeof(long));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < ROUNDS * size; ++round) {
    const int target = (rank + round) % size, writes = (rank * 7 + round) % 3 == 0;
    long pair[2] = {-1, -1};
    MPI_Win_lock(writes ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win);
    MPI_Get(pair, 2, MPI_LONG, target, 0, 2, MPI_LONG, win);
    MPI_Win_flush(target, win);
    CHECK(pair[0] == pair[1], "rank %d is written to by another: %ld and %ld", target, pair[0], pair[1]);
    if (writes) {
      const long next = pair[0] + 1;
      MPI_Put(&next, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
      MPI_Win_flush(target, win);
      MPI_Put(&next, 1, MPI_LONG, target, 1, 1, MPI_LONG, win);
    } else {
      const long one = 1;
      MPI_Accumulate(&one, 1, MPI_LONG, target, 2, 1, MPI_LONG, MPI_SUM, win);
    }
    MPI_Win_unlock(target, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  long mine = base[0] + base[2], all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  CHECK(all == (long)ROUNDS * size * size, "%ld accesses", all);
  MPI_Win_free(&win);
}

static void dies(int mortal) {
  long* base;
  MPI_Win win;
  MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  if (rank == mortal) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mortal, 0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == mortal) {
    usleep(100000);
    raise(SIGKILL);
  }
  MPI_Win_lock(MPI_LOCK_SHARED, mortal, 0, win);
  CHECK(0, "the lock was granted");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(argc > 1, "expected what to do");
  if (strcmp(argv[1], "memory") == 0) memory();
  if (strcmp(argv[1], "locks") == 0) locks();
  if (strcmp(argv[1], "dies") == 0) dies(atoi(argv[2]));
  if (rank == 0) printf("windows over nodes: right\n");
  MPI_Finalize();
  return 0;
}

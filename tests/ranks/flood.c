/* A rank that never has to wait in its calls serves the others all the same. Rank 0 sends bursts of short
 * messages that fit into rank 1's ring, and rank 1 receives each burst when all of it is there; they take
 * turns by words in shared memory, so neither of them ever waits in MPI. Meanwhile rank 2 needs one of them,
 * the victim: rendezvous RECEIVER|SENDER   for a long message whose receive the victim has posted before
 *   window RECEIVER|SENDER       for memory that is the victim's alone
 *   barrier ANY                  for a nonblocking barrier of all three
 * The bursts end when rank 2 has what it wanted; if it does not within 20 s, the job ends.
 * Arguments: the case, the victim (0: the sender, 1: the receiver). */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

enum { kBurst = 60, kLong = 300000, kSeconds = 20 };

typedef struct {
  atomic_int sent;     /* bursts that rank 0 has sent */
  atomic_int received; /* bursts that rank 1 has received */
  atomic_int served;   /* rank 2 has what it wanted */
} Words;

static Words* words;
static int rank;

static int is_time_up(void) {
  static time_t begin;
  if (begin == 0) begin = time(NULL);
  return time(NULL) - begin > kSeconds;
}

static void await(atomic_int* word, int value) {
  while (atomic_load(word) < value) sched_yield();
}

static void send_bursts(void) {
  int data[2] = {0, 0};
  for (int burst = 1;; ++burst) {
    data[1] = atomic_load(&words->served);
    CHECK(!is_time_up(), "rank 2 was not served while bursts came and went");
    for (int i = 0; i < kBurst; ++i) MPI_Send(data, 2, MPI_INT, 1, 7, MPI_COMM_WORLD);
    atomic_store(&words->sent, burst);
    if (data[1]) return;
    await(&words->received, burst);
  }
}

static void receive_bursts(void) {
  int data[2] = {0, 0};
  for (int burst = 1; !data[1]; ++burst) {
    await(&words->sent, burst);
    for (int i = 0; i < kBurst; ++i) MPI_Recv(data, 2, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    atomic_store(&words->received, burst);
  }
}

static void play(void) {
  if (rank == 0) send_bursts();
  if (rank == 1) receive_bursts();
}

static void rendezvous(int victim) {
  int* data = malloc(kLong * sizeof(int));
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == victim) MPI_Irecv(data, kLong, MPI_INT, 2, 1, MPI_COMM_WORLD, &request);
  for (int i = 0; rank == 2 && i < kLong; ++i) data[i] = i;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 2) {
    MPI_Ssend(data, kLong, MPI_INT, victim, 1, MPI_COMM_WORLD);
    atomic_store(&words->served, 1);
  }
  play();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == victim) CHECK(data[kLong - 1] == kLong - 1, "the last element is %d", data[kLong - 1]);
  free(data);
}

static void window(int victim) {
  static int memory = 41; /* of a program whose data is private */
  MPI_Win win;
  MPI_Aint place;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_attach(win, &memory, sizeof memory);
  MPI_Get_address(&memory, &place);
  MPI_Bcast(&place, 1, MPI_AINT, victim, MPI_COMM_WORLD);
  if (rank == 2) {
    const int one = 1;
    int before = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, victim, 0, win);
    MPI_Fetch_and_op(&one, &before, MPI_INT, victim, place, MPI_SUM, win);
    MPI_Win_unlock(victim, win);
    CHECK(before == 41, "%d was there", before);
    atomic_store(&words->served, 1);
  }
  play();
  MPI_Win_free(&win);
}

static void barrier(void) {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  if (rank == 2) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    atomic_store(&words->served, 1);
  }
  play();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int victim = atoi(argv[2]);
  MPI_Win shared;
  Words* own;
  MPI_Aint bytes = rank == 0 ? sizeof(Words) : 0;
  int unit;
  MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &shared);
  MPI_Win_shared_query(shared, 0, &bytes, &unit, &words);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(argv[1], "rendezvous") == 0) rendezvous(victim);
  if (strcmp(argv[1], "window") == 0) window(victim);
  if (strcmp(argv[1], "barrier") == 0) barrier();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("served\n");
  MPI_Win_free(&shared);
  MPI_Finalize();
  return 0;
}

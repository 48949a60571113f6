/* cancels SEED SECONDS: receives that are withdrawn and posted again while their sender is about to use them.
 *
 * All ranks send to their right neighbour and receive from the left one, nonblocking, some messages at a
 * time. Half of the receives are cancelled. Whatever the race between a cancel and a sender that has found
 * the receive: a message comes once, whole, and in the order of the receives' posting; a cancelled receive's
 * memory, which is used again at once, is left alone. Now and then a burst of more than a thousand receives
 * is withdrawn while a send is under way: numbers that tell one use of a slot from the next come round. */
#include <stdlib.h>
#include <string.h>

#include "../ranks/check.h"

enum { kOpen = 6, kBytesMax = 96 * 1024, kWords = kBytesMax / 8, kBurst = 1100 };

typedef struct {
  MPI_Request request;
  unsigned long* data;
  long post; /* 0: not in use */
} Slot;

static unsigned long random_state;
static long posts, received, sent, expected, last_post, cancelled;
static Slot receives[kOpen], sends[kOpen];
static int left, right, done_sending;

static unsigned below(unsigned end) {
  random_state = random_state * 6364136223846793005UL + 1442695040888963407UL;
  return (unsigned)(random_state >> 33) % end;
}

static int words_of(long number) {
  const unsigned long mixed = ((unsigned long)number + 1) * 0x9e3779b97f4a7c15UL;
  return 2 + (int)((mixed >> 40) % (mixed % 3 == 0 ? 1000 : kWords - 2));
}

/* Words that no other message and no other place has. */
static void fill(unsigned long* data, long number, int words) {
  for (int i = 0; i < words; ++i) data[i] = ((unsigned long)number << 20) + (unsigned long)i;
}

static void check_message(Slot* slot, const MPI_Status* status) {
  int bytes;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  CHECK(slot->post > last_post, "message %ld came to receive %ld, an earlier one to %ld", expected,
        slot->post, last_post);
  const int words = words_of(expected);
  CHECK(bytes == 8 * words, "message %ld: %d bytes, expected %d", expected, bytes, 8 * words);
  for (int i = 0; i < words; ++i) {
    const unsigned long wanted = ((unsigned long)expected << 20) + (unsigned long)i;
    CHECK(slot->data[i] == wanted, "message %ld, word %d of %d: %lx", expected, i, words, slot->data[i]);
  }
  for (int i = words; i < kWords; ++i)
    CHECK(slot->data[i] == ~0UL, "message %ld: word %d behind it", expected, i);
  last_post = slot->post;
  slot->post = 0;
  ++expected;
  ++received;
}

static void check_untouched(Slot* slot) {
  for (int i = 0; i < kWords; ++i) {
    CHECK(slot->data[i] == ~0UL, "word %d of the cancelled receive %ld: %lx", i, slot->post, slot->data[i]);
  }
  slot->post = 0;
  ++cancelled;
}

static Slot* oldest(void) {
  Slot* first = NULL;
  for (int i = 0; i < kOpen; ++i) {
    if (receives[i].post != 0 && (first == NULL || receives[i].post < first->post)) first = &receives[i];
  }
  return first;
}

static void post(Slot* slot) {
  memset(slot->data, 0xff, kBytesMax);
  slot->post = ++posts;
  MPI_Irecv(slot->data, kBytesMax, MPI_BYTE, left, 0, MPI_COMM_WORLD, &slot->request);
}

/* Cancels one: any, so that a sender that has seen several finds holes between them. */
static void withdraw(void) {
  Slot* slot = &receives[below(kOpen)];
  int was_cancelled;
  if (slot->post == 0) return;
  MPI_Cancel(&slot->request);
  /* If it was too late, those before it have their messages first. */
  MPI_Status status;
  MPI_Wait(&slot->request, &status);
  MPI_Test_cancelled(&status, &was_cancelled);
  if (was_cancelled) return check_untouched(slot);
  for (Slot* first = oldest(); first != slot; first = oldest()) {
    MPI_Status earlier;
    MPI_Wait(&first->request, &earlier);
    check_message(first, &earlier);
  }
  check_message(slot, &status);
}

static void receive_some(void) {
  Slot* first = oldest();
  int complete = 0;
  MPI_Status status;
  if (first != NULL) MPI_Test(&first->request, &complete, &status);
  if (complete) check_message(first, &status);
}

static void send_some(void) {
  Slot* slot = &sends[below(kOpen)];
  int complete = 1;
  if (slot->post != 0) MPI_Test(&slot->request, &complete, MPI_STATUS_IGNORE);
  if (!complete) return;
  slot->post = 0;
  if (done_sending) return;
  const int words = words_of(sent);
  fill(slot->data, sent, words);
  slot->post = 1;
  MPI_Isend(slot->data, 8 * words, MPI_BYTE, right, 0, MPI_COMM_WORLD, &slot->request);
  ++sent;
}

static void burst(void) {
  for (int i = 0; i < kBurst; ++i) {
    Slot* slot = &receives[0];
    while (slot->post != 0 && slot < receives + kOpen - 1) ++slot;
    if (slot->post == 0) post(slot);
    if (below(2) != 0) withdraw();
  }
}

static void step(void) {
  const unsigned roll = below(1000);
  Slot* slot = &receives[below(kOpen)];
  if (roll == 0) {
    burst();
  } else if (roll < 300 && slot->post == 0) {
    post(slot);
  } else if (roll < 450) {
    withdraw();
  } else if (roll < 750) {
    receive_some();
  } else if (roll < 980) {
    send_some();
  } else {
    for (volatile unsigned i = below(100000); i > 0; --i) {
    }
  }
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(argc > 2, "usage: cancels SEED SECONDS");
  random_state = strtoul(argv[1], NULL, 10) * 1000 + (unsigned long)rank;
  right = (rank + 1) % ranks;
  left = (rank + ranks - 1) % ranks;
  for (int i = 0; i < kOpen; ++i) {
    receives[i].data = malloc(kBytesMax);
    sends[i].data = malloc(kBytesMax);
  }
  const double end = MPI_Wtime() + atof(argv[2]);
  while (MPI_Wtime() < end) step();
  /* What was sent comes; how much that is says another message. */
  done_sending = 1;
  long to_come = -1;
  MPI_Request requests[2];
  MPI_Irecv(&to_come, 1, MPI_LONG, left, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&sent, 1, MPI_LONG, right, 1, MPI_COMM_WORLD, &requests[1]);
  for (int told = 0; !told || expected < to_come;) {
    if (!told) MPI_Testall(2, requests, &told, MPI_STATUSES_IGNORE);
    if (!told || expected < to_come) step();
  }
  while (oldest() != NULL) withdraw();
  for (int i = 0; i < kOpen; ++i) {
    if (sends[i].post != 0) MPI_Wait(&sends[i].request, MPI_STATUS_IGNORE);
  }
  CHECK(received == to_come, "%ld messages of %ld", received, to_come);
  long mine[2] = {received, cancelled}, all[2];
  MPI_Reduce(mine, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("right: %ld messages, %ld receives cancelled\n", all[0], all[1]);
  MPI_Finalize();
  return 0;
}

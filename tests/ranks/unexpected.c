// Ranks that send far more than their receiver has room for, at once and before it receives: what it keeps
// stays below the limit, everything arrives, in order and whole, and those that flood each other come to an
// end.
//
// Arguments: the case, the limit in bytes (TASUKI_UNEXPECTED_BYTES_MAX), messages of each sender, bytes of
// each; without the last one sizes go from 0 bytes to 8 KiB, and most are short. The cases:
//   isend  all other ranks send to rank 0 by MPI_Isend, and then a last message of another tag, which rank 0
//          receives first: nothing that is held back may be in its way
//   send   rank 1 sends to rank 0 by MPI_Send; rank 0 looks for other messages meanwhile, often
//   both   each rank floods its neighbours, and receives after that
//   offers as isend, after offers of partitioned messages that come before their receives
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kFlood = 1, kLast = 2, kNever = 3, kBytesMax = 8 << 10, kProbes = 500 };

static int rank, size, messages, bytes_of_each;
static long limit;
static MPI_T_pvar_session session;

static MPI_T_pvar_handle kept_handle, held_back_handle;

static MPI_T_pvar_handle begin_to_count(const char* name, int kind) {
  int index = 0, count = 0;
  MPI_T_pvar_handle handle;
  CHECK(MPI_T_pvar_get_index(name, kind, &index) == MPI_SUCCESS, "no variable %s", name);
  MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
  MPI_T_pvar_start(session, handle);
  return handle;
}

static unsigned long long count_of(MPI_T_pvar_handle handle) {
  unsigned long long value = 0;
  MPI_T_pvar_read(session, handle, &value);
  return value;
}

static int bytes_of(int number) {
  if (bytes_of_each != 0) return bytes_of_each;
  return number % 16 == 5 ? kBytesMax - number % 100 : number % 4 == 3 ? 1000 : number % 9;
}

static char content(int from, int number, int at) {
  return (char)(from * 31 + number * 7 + at);
}

static long flood_bytes(void) {
  long bytes = 0;
  for (int i = 0; i < messages; i++) bytes += bytes_of(i);
  return bytes;
}

static char* make(int number) {
  char* data = malloc((size_t)bytes_of(number) + 1);
  for (int at = 0; at < bytes_of(number); at++) data[at] = content(rank, number, at);
  return data;
}

static void start(int to, char** data, MPI_Request* requests) {
  for (int i = 0; i < messages; i++) {
    data[i] = make(i);
    MPI_Isend(data[i], bytes_of(i), MPI_CHAR, to, kFlood, MPI_COMM_WORLD, &requests[i]);
  }
}

static void finish(char** data, MPI_Request* requests) {
  MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < messages; i++) free(data[i]);
}

static void receive_all(int from) {
  static char data[kBytesMax];
  for (int i = 0; i < messages; i++) {
    MPI_Status status;
    int bytes, whole = 1;
    MPI_Recv(data, sizeof data, MPI_CHAR, from, kFlood, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &bytes);
    CHECK(bytes == bytes_of(i), "message %d from rank %d has %d bytes, not %d", i, from, bytes, bytes_of(i));
    for (int at = 0; at < bytes; at++) whole = whole && data[at] == content(from, i, at);
    CHECK(whole, "message %d from rank %d is not what was sent", i, from);
  }
}

static void check_kept(void) {
  const unsigned long long kept = count_of(kept_handle);
  const long part = limit / size > 128 << 10 ? limit / size : 128 << 10;
  CHECK((long)kept <= part * size, "%llu bytes were kept, the limit is %ld", kept, part * size);
  CHECK((long)kept < flood_bytes() * (size > 2 ? size - 1 : 1), "%llu bytes were kept: this was no flood",
        kept);
}

/* Of memory that is this process's alone, as its system counts it. */
static long resident_kib(void) {
  char line[256];
  long kib = 0;
  FILE* file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) sscanf(line, "RssAnon: %ld", &kib);
  if (file != NULL) fclose(file);
  return kib;
}

/* For each message that is held back its receiver knows that it comes: half a KiB. */
static void check_growth(long before_kib) {
  const long grown = resident_kib() - before_kib;
  const long most = (limit >> 10) + 128 * size + messages * (size - 1) / 2 + 4096;
  CHECK(grown <= most, "%ld KiB more are in use, expected %ld at most, of %ld that were sent", grown, most,
        (flood_bytes() >> 10) * (size - 1));
}

static void check_held_back(void) {
  CHECK(count_of(held_back_handle) > 0, "no message was held back");
}

static void flood_by_isend(void) {
  char** data = malloc(sizeof *data * (size_t)messages);
  MPI_Request* requests = malloc(sizeof *requests * (size_t)messages);
  const long before_kib = resident_kib();
  if (rank != 0) {
    start(0, data, requests);
    MPI_Send(&rank, 1, MPI_INT, 0, kLast, MPI_COMM_WORLD);
    finish(data, requests);
    check_held_back();
  } else {
    for (int from = size - 1; from > 0; from--) {
      int told;
      MPI_Recv(&told, 1, MPI_INT, from, kLast, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    check_kept();
    check_growth(before_kib);
    for (int from = 1; from < size; from++) receive_all(from);
    check_kept();
  }
  free(requests);
  free(data);
}

static void flood_by_send(void) {
  if (rank == 1) {
    for (int i = 0; i < messages; i++) {
      char* data = make(i);
      MPI_Send(data, bytes_of(i), MPI_CHAR, 0, kFlood, MPI_COMM_WORLD);
      free(data);
    }
  } else if (rank == 0) {
    int found = 0;
    for (int i = 0; i < kProbes; i++) MPI_Iprobe(1, kNever, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    CHECK(!found, "a message that was not sent");
    check_kept();
    receive_all(1);
    check_kept();
  }
}

static void flood_each_other(void) {
  char** data = malloc(sizeof *data * (size_t)messages);
  MPI_Request* requests = malloc(sizeof *requests * (size_t)messages);
  start((rank + 1) % size, data, requests);
  receive_all((rank + size - 1) % size);
  finish(data, requests);
  check_kept();
  free(requests);
  free(data);
}

/* Offers of partitioned messages come before their receives, too. They cost nothing: a receiver that counted
 * them told its sender that it had taken more than was sent. */
static void offer_before(void) {
  enum { kOffers = 100, kEach = 64 << 10 };
  static char data[kOffers][kEach];
  MPI_Request requests[kOffers];
  if (rank > 1) return;
  for (int i = 0; rank == 1 && i < kOffers; i++)
    MPI_Psend_init(data[i], 1, kEach, MPI_CHAR, 0, i, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
  if (rank == 1) MPI_Send(&rank, 1, MPI_INT, 0, kLast, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(data[0], 1, MPI_INT, 1, kLast, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; rank == 0 && i < kOffers; i++)
    MPI_Precv_init(data[i], 1, kEach, MPI_CHAR, 1, i, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
  MPI_Startall(kOffers, requests);
  for (int i = 0; rank == 1 && i < kOffers; i++) MPI_Pready(0, requests[i]);
  MPI_Waitall(kOffers, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kOffers; i++) MPI_Request_free(&requests[i]);
}

int main(int argc, char** argv) {
  int provided;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_T_pvar_session_create(&session);
  kept_handle = begin_to_count("unexpected_bytes_highest", MPI_T_PVAR_CLASS_HIGHWATERMARK);
  held_back_handle = begin_to_count("sends_held_back", MPI_T_PVAR_CLASS_COUNTER);
  limit = atol(argv[2]);
  messages = atoi(argv[3]);
  bytes_of_each = argc > 4 ? atoi(argv[4]) : 0;
  if (strcmp(argv[1], "offers") == 0) offer_before();
  if (strcmp(argv[1], "offers") == 0 || strcmp(argv[1], "isend") == 0) flood_by_isend();
  if (strcmp(argv[1], "send") == 0) flood_by_send();
  if (strcmp(argv[1], "both") == 0) flood_each_other();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("ended well\n");
  MPI_T_pvar_session_free(&session);
  MPI_Finalize();
  MPI_T_finalize();
  return 0;
}

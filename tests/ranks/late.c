/* Blocking sends whose receivers are late: MPI_Send returns, its buffer is the program's again, and what
 * arrives is what was sent, however the receive is made, in the order of the sends. Each rank sends to its
 * right. "waits" as argument: only that all arrives right is expected, in any order of events. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kTag = 3, kGo = 4, kMost = 8, kLong = 32768 /* numbers: 128 KiB */, kStride = 3 };

static int rank, size, left, right, waits;

static int number(int source, int message, int i) {
  return source * 1000003 + message * 101 + i;
}

static void fill(int* data, int count, int stride, int message) {
  for (int i = 0; i < count; ++i) data[i * stride] = number(rank, message, i);
}

static void expect(const int* data, int count, int message, const char* how) {
  for (int i = 0; i < count; ++i) {
    CHECK(data[i] == number(left, message, i), "%s: number %d of message %d is %d, not %d", how, i, message,
          data[i], number(left, message, i));
  }
}

/* The receiver comes when all have been sent, or, where it need not, at any time. */
static void let_go(void) {
  if (!waits) MPI_Send(NULL, 0, MPI_INT, right, kGo, MPI_COMM_WORLD);
}
static void come_late(void) {
  if (!waits) MPI_Recv(NULL, 0, MPI_INT, left, kGo, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

enum How { kReceive, kNonblocking, kProbe, kMatched, kAnySource, kShorter, kWays };
static const char* const ways[] = {"MPI_Recv",   "MPI_Irecv",      "MPI_Probe",
                                   "MPI_Mprobe", "MPI_ANY_SOURCE", "a shorter MPI_Recv"};

static void receive(int* in, int count, enum How how, int message) {
  MPI_Status status;
  MPI_Request request;
  MPI_Message matched;
  int taken = count, code;
  memset(in, 0xff, (size_t)count * sizeof *in);
  switch (how) {
    case kNonblocking:
      MPI_Irecv(in, count, MPI_INT, left, kTag, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, &status);
      break;
    case kProbe:
      MPI_Probe(left, kTag, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_INT, &taken);
      CHECK(taken == count, "MPI_Probe tells of %d, not %d", taken, count);
      MPI_Recv(in, count, MPI_INT, left, kTag, MPI_COMM_WORLD, &status);
      break;
    case kMatched:
      MPI_Mprobe(left, kTag, MPI_COMM_WORLD, &matched, &status);
      MPI_Mrecv(in, count, MPI_INT, &matched, &status);
      break;
    case kAnySource:
      MPI_Recv(in, count, MPI_INT, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &status);
      break;
    case kShorter:
      taken = count / 2;
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
      code = MPI_Recv(in, taken, MPI_INT, left, kTag, MPI_COMM_WORLD, &status);
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
      MPI_Error_class(code, &code);
      CHECK(code == MPI_ERR_TRUNCATE, "a message that is too long: error class %d", code);
      break;
    default:
      MPI_Recv(in, count, MPI_INT, left, kTag, MPI_COMM_WORLD, &status);
  }
  expect(in, taken, message, ways[how]);
}

/* As many as may lie aside at once; the buffer is used again for each of them. */
static void send_all(int* out, int count, MPI_Datatype type, int of_type, int stride) {
  for (int message = 0; message < kMost; ++message) {
    fill(out, count, stride, message);
    MPI_Send(out, of_type, type, right, kTag, MPI_COMM_WORLD);
  }
  memset(out, 0x55, (size_t)count * (size_t)stride * sizeof *out);
}

static void pass_on(int count, enum How how, int* out, int* in) {
  MPI_Datatype column;
  MPI_Type_vector(count, 1, kStride, MPI_INT, &column);
  MPI_Type_commit(&column);
  for (int strided = 0; strided < 2; ++strided) {
    const int sends_first = waits ? rank % 2 == 0 : 1;
    MPI_Barrier(MPI_COMM_WORLD); /* what was set aside has been received */
    for (int turn = 0; turn < 2; ++turn) {
      if (turn != sends_first) {
        strided ? send_all(out, count, column, 1, kStride) : send_all(out, count, MPI_INT, count, 1);
        let_go();
      } else {
        come_late();
        for (int message = 0; message < kMost; ++message) receive(in, count, how, message);
      }
    }
  }
  MPI_Type_free(&column);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  waits = argc > 1 && strcmp(argv[1], "waits") == 0;
  int* const out = malloc((size_t)kLong * kStride * sizeof *out);
  int* const in = malloc((size_t)kLong * sizeof *in);
  for (int count = 4096; count <= kLong; count *= 2) {
    for (int how = 0; how < kWays; ++how) pass_on(count, (enum How)how, out, in);
  }
  free(in);
  /* The last ones are received after their sender has come to MPI_Finalize. */
  if (rank == 0 && !waits) {
    fill(out, kLong, 1, 7);
    MPI_Send(out, kLong, MPI_INT, right, kTag, MPI_COMM_WORLD);
  }
  free(out);
  if (left == 0 && !waits) {
    int* const last = malloc((size_t)kLong * sizeof *last);
    receive(last, kLong, kReceive, 7);
    free(last);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("late: right\n");
  MPI_Finalize();
  return 0;
}

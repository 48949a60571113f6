/* Long messages whose receives were posted first, and receives that are cancelled while their messages may be
 * on their way. Each rank receives of the one before it: in order, whole, cut where the buffer is too short,
 * and what was cancelled is not written to. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 100000, SHORT = 50000, ROUNDS = 12 };

static unsigned char buffers[5][BYTES];

static unsigned char byte_of(int number, int i) {
  return (unsigned char)(number * 37 + i * 13 + (i >> 8));
}

static void send(int to, int tag, int number) {
  static unsigned char data[BYTES];
  for (int i = 0; i < BYTES; ++i) data[i] = byte_of(number, i);
  MPI_Send(data, BYTES, MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

static void post(int which, int bytes, int from, int tag, MPI_Request* request) {
  memset(buffers[which], 0xee, BYTES);
  MPI_Irecv(buffers[which], bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, request);
}

static void check(int which, int bytes, int number) {
  for (int i = 0; i < BYTES; ++i) {
    const unsigned char expected = i < bytes ? byte_of(number, i) : 0xee;
    CHECK(buffers[which][i] == expected, "buffer %d: byte %d is %d, not %d", which, i, buffers[which][i],
          expected);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rank, size, cancelled = 0, error_class;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int round = 0; round < ROUNDS; ++round) {
    const int is_sent = round % 3 != 0; /* the message of the receive that is cancelled */
    MPI_Request requests[5];
    MPI_Status status;
    post(0, BYTES, from, 1, &requests[0]);
    post(1, BYTES, from, MPI_ANY_TAG, &requests[1]);
    post(2, SHORT, from, 2, &requests[2]);
    post(3, BYTES, from, 3, &requests[3]);
    post(4, BYTES, MPI_ANY_SOURCE, 4, &requests[4]);
    if (round % 3 == 1) MPI_Cancel(&requests[3]);
    MPI_Barrier(MPI_COMM_WORLD);
    send(to, 1, round);
    send(to, 1, round + 1);
    send(to, 2, round + 2);
    MPI_Request late = MPI_REQUEST_NULL;
    static unsigned char data[BYTES];
    for (int i = 0; i < BYTES; ++i) data[i] = byte_of(round + 3, i);
    if (is_sent) MPI_Isend(data, BYTES, MPI_BYTE, to, 3, MPI_COMM_WORLD, &late);
    send(to, 4, round + 4);
    if (round % 3 != 1) MPI_Cancel(&requests[3]);
    MPI_Wait(&requests[3], &status);
    int flag;
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag || is_sent, "a receive without a message has ended");
    if (flag) {
      ++cancelled;
      check(3, 0, 0);
      if (is_sent) {
        MPI_Recv(buffers[3], BYTES, MPI_BYTE, from, 3, MPI_COMM_WORLD, &status);
      }
    }
    if (is_sent) check(3, BYTES, round + 3);
    MPI_Wait(&late, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], &status);
    check(0, BYTES, round);
    MPI_Wait(&requests[1], &status);
    CHECK(status.MPI_TAG == 1 && status.MPI_SOURCE == from, "tag %d, source %d", status.MPI_TAG,
          status.MPI_SOURCE);
    check(1, BYTES, round + 1);
    MPI_Error_class(MPI_Wait(&requests[2], &status), &error_class);
    CHECK(error_class == MPI_ERR_TRUNCATE, "error class %d", error_class);
    check(2, SHORT, round + 2);
    MPI_Wait(&requests[4], &status);
    CHECK(status.MPI_SOURCE == from, "source %d", status.MPI_SOURCE);
    check(4, BYTES, round + 4);
  }
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : &cancelled, &cancelled, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("written: right, %d cancelled\n", cancelled);
  MPI_Finalize();
  return 0;
}

/* Requests that are freed in every state that allows it: never started, inactive, over, active, cancelled.
 * Each rank sends to its right and receives from its left; the two ends free in every order. After each of
 * them a message of the same kind, tag and communicator arrives right. (Generalised requests: generalized.c;
 * those of files: file_requests.c.)
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kTag = 5, kLong = 100000, kLaps = 6 };

static int rank, size, left, right;
static int out[kLong], unused[kLong];
static volatile int in[kLong];
#define IN ((void*)in)
#define WORLD MPI_COMM_WORLD

static void fence(void) {
  MPI_Barrier(WORLD);
}

static void fill(int count, int seed) {
  for (int i = 0; i < count; ++i) {
    out[i] = 1000 * rank + seed + i;
    in[i] = -1;
  }
}

static void expect_filled(int count, int seed, const char* what) {
  for (int i = 0; i < count; ++i) {
    CHECK(in[i] == 1000 * left + seed + i, "%s: number %d is %d, not %d", what, i, in[i],
          1000 * left + seed + i);
  }
}

/* Of a receive that has no request any more: makes progress until each of the numbers is here, in whatever
 * order they come (a sender may help to copy a long message, and begins elsewhere in it). */
static void await_filled(int count, int seed, const char* what) {
  for (int i = 0, flag; i < count; ++i) {
    while (in[i] != 1000 * left + seed + i)
      MPI_Iprobe(MPI_ANY_SOURCE, kTag + 1, WORLD, &flag, MPI_STATUS_IGNORE);
  }
  fence();
  expect_filled(count, seed, what);
}

/* Initialises and frees the send (S, s) and the receive (R, r) in every order. */
static const char* const orders[] = {"SsRr", "SRsr", "SRrs", "RSsr", "RSrs", "RrSs"};
enum { kOrders = sizeof orders / sizeof orders[0] };

typedef void Init(int count, MPI_Comm comm, MPI_Request* request);

static void in_every_order(Init* init_send, Init* init_receive, int count, MPI_Comm comm, int fenced) {
  for (int order = 0; order < kOrders; ++order) {
    MPI_Request send, receive;
    for (const char* step = orders[order]; *step != '\0'; ++step) {
      if (*step == 'S') init_send(count, comm, &send);
      if (*step == 'R') init_receive(count, comm, &receive);
      if (*step == 's') MPI_Request_free(&send);
      if (*step == 'r') MPI_Request_free(&receive);
      if (fenced) fence();
    }
    CHECK(send == MPI_REQUEST_NULL && receive == MPI_REQUEST_NULL, "handles stay");
  }
}

/* ----- partitioned messages ----- */

static void init_psend(int count, MPI_Comm comm, MPI_Request* request) {
  MPI_Psend_init(out, 2, count / 2, MPI_INT, right, kTag, comm, MPI_INFO_NULL, request);
}
static void init_precv(int count, MPI_Comm comm, MPI_Request* request) {
  MPI_Precv_init(IN, 1, count, MPI_INT, left, kTag, comm, MPI_INFO_NULL, request);
}

enum State { kInactive, kOver, kStates };

static void partitioned_pair(int count, enum State state, int seed) {
  MPI_Request requests[2];
  fill(count, seed);
  init_psend(count, WORLD, &requests[0]);
  init_precv(count, WORLD, &requests[1]);
  MPI_Startall(2, requests);
  MPI_Pready_range(0, 1, requests[0]);
  if (state == kInactive) {
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else {
    for (int flag = 0; !flag;) MPI_Request_get_status_all(2, requests, &flag, MPI_STATUSES_IGNORE);
  }
  expect_filled(count, seed, "a partitioned message");
  MPI_Request_free(&requests[seed % 2]);
  MPI_Request_free(&requests[1 - seed % 2]);
}

static void partitioned(void) {
  for (int lap = 0; lap < kLaps; ++lap) {
    for (int count = 4; count <= kLong; count += kLong - 4) {
      in_every_order(init_psend, init_precv, count, WORLD, lap % 2);
      partitioned_pair(count, lap % kStates, lap);
      MPI_Comm comm; /* it ends before the offers have come */
      MPI_Comm_dup(WORLD, &comm);
      in_every_order(init_psend, init_precv, count, comm, 0);
      MPI_Comm_free(&comm);
      partitioned_pair(count, lap % kStates, lap);
    }
  }
}

/* ----- persistent messages ----- */

typedef int InitSend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
static InitSend* const send_inits[] = {MPI_Send_init, MPI_Bsend_init, MPI_Ssend_init, MPI_Rsend_init};
static InitSend* const isends[] = {MPI_Isend, MPI_Ibsend, MPI_Issend, MPI_Irsend};
static InitSend* send_init;

static void init_send(int count, MPI_Comm comm, MPI_Request* request) {
  send_init(out, count, MPI_INT, right, kTag, comm, request);
}
static void init_receive(int count, MPI_Comm comm, MPI_Request* request) {
  MPI_Recv_init(IN, count, MPI_INT, left, kTag, comm, request);
}

static void persistent_pair(int count, int seed) {
  MPI_Request send, receive;
  fill(count, seed);
  init_send(count, WORLD, &send);
  init_receive(count, WORLD, &receive);
  MPI_Start(&receive);
  fence();  // ready sends need it
  MPI_Start(&send);
  switch (seed % 4) {
    case 0:  // inactive
      MPI_Wait(&send, MPI_STATUS_IGNORE);
      MPI_Wait(&receive, MPI_STATUS_IGNORE);
      expect_filled(count, seed, "a persistent message");
      MPI_Request_free(&send);
      MPI_Request_free(&receive);
      break;
    case 1:  // the send is active
      MPI_Request_free(&send);
      MPI_Wait(&receive, MPI_STATUS_IGNORE);
      expect_filled(count, seed, "a freed persistent send");
      MPI_Request_free(&receive);
      break;
    case 2:  // both are
      MPI_Request_free(&receive);
      MPI_Request_free(&send);
      await_filled(count, seed, "a freed persistent receive");
      break;
    default:  // both are over
      for (int flag = 0; !flag;) MPI_Request_get_status(send, &flag, MPI_STATUS_IGNORE);
      for (int flag = 0; !flag;) MPI_Request_get_status(receive, &flag, MPI_STATUS_IGNORE);
      expect_filled(count, seed, "a persistent message that is over");
      MPI_Request_free(&receive);
      MPI_Request_free(&send);
  }
  fence();  // what was freed has left, too
}

static void cancelled(int count, int seed) {
  MPI_Request receives[2];
  init_receive(count, WORLD, &receives[0]);
  MPI_Start(&receives[0]);
  MPI_Irecv(unused, count, MPI_INT, left, kTag, WORLD, &receives[1]);
  for (int i = 0; i < 2; ++i) {
    MPI_Cancel(&receives[(seed + i) % 2]);
    MPI_Request_free(&receives[(seed + i) % 2]);
  }
  fence();
}

static void persistent(void) {
  for (int lap = 0; lap < 4 * kLaps; ++lap) {
    send_init = send_inits[lap / kLaps];
    for (int count = 4; count <= kLong; count += kLong - 4) {
      in_every_order(init_send, init_receive, count, WORLD, 0);
      cancelled(count, lap);
      persistent_pair(count, lap);
      MPI_Comm comm;
      MPI_Request requests[2];
      MPI_Comm_dup(WORLD, &comm);
      init_send(count, comm, &requests[0]);
      init_receive(count, comm, &requests[1]);
      MPI_Comm_free(&comm);
      MPI_Request_free(&requests[lap % 2]);
      MPI_Request_free(&requests[1 - lap % 2]);
    }
  }
}

/* ----- messages that were begun once ----- */

static void begun(void) {
  for (int lap = 0; lap < 4 * kLaps; ++lap) {
    for (int count = 4; count <= kLong; count += kLong - 4) {
      MPI_Request send, receive;
      fill(count, lap);
      MPI_Irecv(IN, count, MPI_INT, left, kTag, WORLD, &receive);
      fence();
      isends[lap / kLaps](out, count, MPI_INT, right, kTag, WORLD, &send);
      if (lap % 2 == 1) MPI_Request_free(&receive);
      MPI_Request_free(&send);
      if (lap % 2 == 1) {
        await_filled(count, lap, "a freed receive");
      } else {
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        expect_filled(count, lap, "a freed send");
      }
      cancelled(count, lap);
    }
  }
  for (int count = 4; count <= kLong; count += kLong - 4) {
    MPI_Request request;
    fill(count, 1);
    MPI_Isendrecv(out, count, MPI_INT, right, kTag, IN, count, MPI_INT, left, kTag, WORLD, &request);
    MPI_Request_free(&request);
    await_filled(count, 1, "a freed MPI_Isendrecv");
    fill(count, 2);
    memcpy(IN, out, (size_t)count * sizeof(int));
    MPI_Isendrecv_replace(IN, count, MPI_INT, right, kTag, left, kTag, WORLD, &request);
    MPI_Request_free(&request);
    if (size > 1) await_filled(count, 2, "a freed MPI_Isendrecv_replace");
    fence();
    fill(count, 3);
    MPI_Bsend(out, count, MPI_INT, right, kTag, WORLD);
    MPI_Buffer_iflush(&request);
    MPI_Request_free(&request);
    MPI_Message message;
    MPI_Mprobe(left, kTag, WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(IN, count, MPI_INT, &message, &request);
    MPI_Request_free(&request);
    await_filled(count, 3, "a freed MPI_Imrecv");
  }
}

/* ----- persistent collectives ----- */

enum { kCollectives = 5 };

static void init_collective(int which, MPI_Comm comm, MPI_Request* request) {
  if (which == 0) MPI_Barrier_init(comm, MPI_INFO_NULL, request);
  if (which == 1) MPI_Bcast_init(rank == 0 ? out : IN, kLong, MPI_INT, 0, comm, MPI_INFO_NULL, request);
  if (which == 2) MPI_Allreduce_init(out, IN, kLong, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, request);
  if (which == 3) MPI_Alltoall_init(out, 4, MPI_INT, IN, 4, MPI_INT, comm, MPI_INFO_NULL, request);
  if (which == 4) MPI_Gather_init(out, 4, MPI_INT, IN, 4, MPI_INT, size - 1, comm, MPI_INFO_NULL, request);
}

static void run_allreduce(MPI_Request* request, int seed) {
  for (int i = 0; i < kLong; ++i) out[i] = rank + seed;
  MPI_Start(request);
  MPI_Wait(request, MPI_STATUS_IGNORE);
  for (int i = 0; i < kLong; ++i)
    CHECK(in[i] == size * (size - 1) / 2 + size * seed, "sum %d is %d", i, in[i]);
}

static void collectives(void) {
  for (int lap = 0; lap < 2 * kLaps; ++lap) {
    MPI_Comm comm;
    MPI_Request requests[kCollectives], kept;
    MPI_Comm_dup(WORLD, &comm);
    init_collective(2, comm, &kept);
    for (int i = 0; i < kCollectives; ++i) init_collective(i, comm, &requests[i]);
    for (int i = 0; lap % 3 > 0 && i < kCollectives; ++i) {
      MPI_Start(&requests[i]);
      for (int flag = 0; !flag;) {  // inactive, or over and still active
        lap % 3 == 1 ? MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE)
                     : MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE);
      }
    }
    if (rank % 2 == lap % 2) fence();  // some free before the others do
    for (int i = 0; i < kCollectives; ++i) MPI_Request_free(&requests[(i + rank) % kCollectives]);
    if (rank % 2 != lap % 2) fence();
    run_allreduce(&kept, lap);
    init_collective(2, comm, &requests[2]);
    if (lap % 2 == 0) MPI_Comm_free(&comm);
    run_allreduce(&requests[2], lap + 1);
    MPI_Request_free(&requests[2]);
    run_allreduce(&kept, lap + 2);
    MPI_Request_free(&kept);
    if (lap % 2 == 1) MPI_Comm_free(&comm);
  }
}

int main(int argc, char** argv) {
  void* buffer = malloc(4 * kLong * sizeof(int));
  int bytes = 4 * kLong * (int)sizeof(int);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &size);
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  MPI_Buffer_attach(buffer, bytes);
  partitioned();
  persistent();
  begun();
  collectives();
  MPI_Buffer_detach(&buffer, &bytes);
  free(buffer);
  fence();
  if (rank == 0) printf("freed: right\n");
  MPI_Finalize();
  return 0;
}

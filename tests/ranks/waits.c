/* Ranks that wait for the last one in one call after the other, for test_board.py: the last rank is outside
 * of MPI until a signal (SIGUSR1) tells it to end the wait of all others, and then again until the next one.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { kLong = 200000 }; /* ints: longer than what is sent at once */

static int rank, size, last;
static MPI_Comm mesh;
static sigset_t go_on;

static int is_last(void) {
  return rank == last;
}

/* Of the last rank: it is outside of MPI until it may end the others' wait. */
static void stay_outside(void) {
  int signal_number;
  sigwait(&go_on, &signal_number);
}

static void send_to_others(int tag, int count) {
  int* data = calloc((size_t)count, sizeof *data);
  stay_outside();
  for (int other = 0; other < last; ++other) MPI_Send(data, count, MPI_INT, other, tag, mesh);
  free(data);
}

static void in_recv(void) {
  int data[5];
  if (is_last()) return send_to_others(7, 5);
  MPI_Recv(data, 5, MPI_INT, last, 7, mesh, MPI_STATUS_IGNORE);
}

static void in_wait(void) {
  int data[3];
  MPI_Request request;
  if (is_last()) return send_to_others(8, 3);
  MPI_Irecv(data, 3, MPI_INT, last, 8, mesh, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void in_waitany(void) {
  int data[2], index;
  MPI_Request requests[2];
  if (is_last()) {
    send_to_others(9, 1);
    for (int other = 0; other < last; ++other) MPI_Send(&size, 1, MPI_INT, other, 10, mesh);
    return;
  }
  for (int i = 0; i < 2; ++i) MPI_Irecv(&data[i], 1, MPI_INT, MPI_ANY_SOURCE, 9 + i, mesh, &requests[i]);
  MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void in_send(void) {
  int* data = calloc(kLong, sizeof *data);
  if (is_last()) {
    stay_outside();
    for (int other = 0; other < last; ++other)
      MPI_Recv(data, kLong, MPI_INT, other, 11, mesh, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(data, kLong, MPI_INT, last, 11, mesh);
  }
  free(data);
}

static void in_probe(void) {
  int data;
  if (is_last()) return send_to_others(12, 1);
  MPI_Probe(last, 12, mesh, MPI_STATUS_IGNORE);
  MPI_Recv(&data, 1, MPI_INT, last, 12, mesh, MPI_STATUS_IGNORE);
}

static void in_test(void) {
  int data, flag = 0;
  MPI_Request request;
  if (is_last()) return send_to_others(13, 1);
  MPI_Irecv(&data, 1, MPI_INT, last, 13, mesh, &request);
  while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

/* The last rank has sent under one tag while the others wait for another one. */
static void with_wrong_tag(void) {
  int data;
  if (is_last()) {
    for (int other = 0; other < last; ++other) MPI_Send(&size, 1, MPI_INT, other, 14, mesh);
    return send_to_others(15, 1);
  }
  MPI_Recv(&data, 1, MPI_INT, last, 15, mesh, MPI_STATUS_IGNORE);
  MPI_Recv(&data, 1, MPI_INT, last, 14, mesh, MPI_STATUS_IGNORE);
}

static void in_barrier(void) {
  if (is_last()) stay_outside();
  MPI_Barrier(mesh);
}

static void in_bcast(void) {
  int data[4] = {0};
  if (is_last()) stay_outside();
  MPI_Bcast(data, 4, MPI_INT, last, mesh);
}

static void in_allreduce(void) {
  double *data = calloc(kLong, sizeof *data), *sum = calloc(kLong, sizeof *sum);
  if (is_last()) stay_outside();
  MPI_Allreduce(data, sum, kLong, MPI_DOUBLE, MPI_MAX, mesh);
  free(data);
  free(sum);
}

static void in_ibarrier(void) {
  MPI_Request request;
  if (is_last()) stay_outside();
  MPI_Ibarrier(mesh, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static MPI_Win window(void) {
  MPI_Win win;
  void* memory;
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, mesh, &memory, &win);
  MPI_Win_set_name(win, "halo");
  return win;
}

static void in_fence(void) {
  MPI_Win win = window();
  if (is_last()) stay_outside();
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

static void in_lock(void) {
  MPI_Win win = window();
  if (is_last()) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  MPI_Barrier(mesh);
  if (is_last()) {
    stay_outside();
    MPI_Win_unlock(0, win);
  } else {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Win_free(&win);
}

static void in_split(void) {
  MPI_Comm half;
  if (is_last()) stay_outside();
  MPI_Comm_split(mesh, rank % 2, 0, &half);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  void (*const waits[])(void) = {in_recv,     in_wait,        in_waitany, in_send,  in_probe,
                                 in_test,     with_wrong_tag, in_barrier, in_bcast, in_allreduce,
                                 in_ibarrier, in_fence,       in_lock,    in_split};
  sigemptyset(&go_on);
  sigaddset(&go_on, SIGUSR1);
  sigprocmask(SIG_BLOCK, &go_on, NULL);
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &mesh);
  MPI_Comm_set_name(mesh, "mesh");
  MPI_Comm_rank(mesh, &rank);
  MPI_Comm_size(mesh, &size);
  last = size - 1;
  if (is_last()) puts("ready");
  fflush(stdout);
  for (size_t i = 0; i < sizeof waits / sizeof waits[0]; ++i) waits[i]();
  MPI_Comm_free(&mesh);
  MPI_Finalize();
  return 0;
}

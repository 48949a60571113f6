// Wrong: rank 0 waits for rank 1 in the call that the first argument names, rank 1 for rank 2, rank 2 for
// rank 0. With a second argument it is right: rank 2 computes for so many seconds, and then all go on.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kTag = 5, kHold, kLong = 1 << 18, kBytes = 4 * kLong };

static int rank, seconds, one = 1;
static int data[2 * kLong];
static MPI_Comm pair, inter;  // of rank 1, which is its rank 0, and rank 0
static MPI_Request request;
static const char* file_name;
#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE
#define PEER (1 - rank)  // in MPI_COMM_WORLD
#define PAIR_PEER rank   // in pair

/* Of rank 1, before it does its part. */
static void hold(void) {
  MPI_Recv(&one, 1, MPI_INT, 2, kHold, WORLD, IGNORE);
}

static void first_hold(void) {
  if (rank == 1) hold();
}

static void rank_2(void) {
  if (seconds == 0) {
    MPI_Recv(&one, 1, MPI_INT, 0, kHold, WORLD, IGNORE);  // never sent
  } else {
    sleep((unsigned)seconds);
    MPI_Send(&one, 1, MPI_INT, 1, kHold, WORLD);
  }
}

static void receive_long(MPI_Comm comm) {
  hold();
  MPI_Recv(data, kLong, MPI_INT, comm == pair ? 1 : 0, kTag, comm, IGNORE);
}

static void send_long_buffered(MPI_Comm comm) {
  MPI_Bsend(data, kLong, MPI_INT, comm == pair ? 0 : 1, kTag, comm);
}

// ----- partitioned messages -----

static void partitioned(int late_init) {
  if (rank == 1 && late_init) hold();
  if (rank == 0) MPI_Precv_init(data, 1, 2, MPI_INT, 1, kTag, WORLD, MPI_INFO_NULL, &request);
  if (rank == 1) MPI_Psend_init(data, 2, 1, MPI_INT, 0, kTag, WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  if (rank == 1) {
    MPI_Pready(0, request);
    if (!late_init) hold();
    MPI_Pready(1, request);
  }
  MPI_Wait(&request, IGNORE);
  MPI_Request_free(&request);
}
static void precv(void) {
  partitioned(0);
}
static void precv_of_none(void) {
  partitioned(1);
}
static void psend(void) {
  if (rank == 1) MPI_Precv_init(data, 1, 1, MPI_INT, 0, kTag, WORLD, MPI_INFO_NULL, &request);
  if (rank == 0) MPI_Psend_init(data, 1, 1, MPI_INT, 1, kTag, WORLD, MPI_INFO_NULL, &request);
  first_hold();
  MPI_Start(&request);
  if (rank == 0) MPI_Pready(0, request);
  MPI_Wait(&request, IGNORE);
  MPI_Request_free(&request);
}

// ----- the buffered mode -----

static void* attached;
static int attached_bytes = 3 * kBytes;

static void buffer_detach(void) {
  if (rank == 1) return receive_long(WORLD);
  MPI_Buffer_attach(attached, attached_bytes);
  send_long_buffered(WORLD);
  MPI_Buffer_detach(&attached, &attached_bytes);
}
static void buffer_flush(void) {
  if (rank == 1) return receive_long(WORLD);
  MPI_Buffer_attach(attached, attached_bytes);
  send_long_buffered(WORLD);
  MPI_Buffer_flush();
  MPI_Buffer_detach(&attached, &attached_bytes);
}
static void buffer_iflush(void) {
  if (rank == 1) return receive_long(WORLD);
  MPI_Buffer_attach(attached, attached_bytes);
  send_long_buffered(WORLD);
  MPI_Buffer_iflush(&request);
  MPI_Wait(&request, IGNORE);
  MPI_Buffer_detach(&attached, &attached_bytes);
}
static void comm_detach_buffer(void) {
  if (rank == 1) return receive_long(pair);
  MPI_Comm_attach_buffer(pair, attached, attached_bytes);
  send_long_buffered(pair);
  MPI_Comm_detach_buffer(pair, &attached, &attached_bytes);
}
static void comm_flush_buffer(void) {
  if (rank == 1) return receive_long(pair);
  MPI_Comm_attach_buffer(pair, attached, attached_bytes);
  send_long_buffered(pair);
  MPI_Comm_flush_buffer(pair);
  MPI_Comm_detach_buffer(pair, &attached, &attached_bytes);
}
static void comm_iflush_buffer(void) {
  if (rank == 1) return receive_long(pair);
  MPI_Comm_attach_buffer(pair, attached, attached_bytes);
  send_long_buffered(pair);
  MPI_Comm_iflush_buffer(pair, &request);
  MPI_Wait(&request, IGNORE);
  MPI_Comm_detach_buffer(pair, &attached, &attached_bytes);
}

enum SessionWait { kDetach, kFlush, kIflush, kFinalize };

static void in_session(enum SessionWait wait) {
  MPI_Session session;
  MPI_Group world, both;
  MPI_Comm comm;
  const int ranks[2] = {0, 1};
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
  MPI_Group_incl(world, 2, ranks, &both);
  MPI_Comm_create_from_group(both, "whom", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&world);
  MPI_Group_free(&both);
  if (rank == 1) {
    receive_long(comm);
  } else {
    MPI_Session_attach_buffer(session, attached, attached_bytes);
    send_long_buffered(comm);
    if (wait == kDetach) MPI_Session_detach_buffer(session, &attached, &attached_bytes);
    if (wait == kFlush) MPI_Session_flush_buffer(session);
    if (wait == kIflush) {
      MPI_Session_iflush_buffer(session, &request);
      MPI_Wait(&request, IGNORE);
    }
  }
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}
static void session_detach_buffer(void) {
  in_session(kDetach);
}
static void session_flush_buffer(void) {
  in_session(kFlush);
}
static void session_iflush_buffer(void) {
  in_session(kIflush);
}
static void session_finalize(void) {
  in_session(kFinalize);
}

// ----- what MPI_Finalize waits for -----

static void finalize_bsend(void) {
  if (rank == 1) return receive_long(WORLD);
  MPI_Buffer_attach(attached, attached_bytes);
  send_long_buffered(WORLD);
}
static void finalize_isend(void) {
  if (rank == 1) return receive_long(WORLD);
  MPI_Isend(data, kLong, MPI_INT, 1, kTag, WORLD, &request);
  MPI_Request_free(&request);
}
static void finalize_persistent(void) {
  if (rank == 1) return receive_long(WORLD);
  MPI_Send_init(data, kLong, MPI_INT, 1, kTag, WORLD, &request);
  MPI_Start(&request);
  MPI_Request_free(&request);
}

// ----- what MPI_Comm_disconnect waits for -----

static void disconnect_isend(void) {
  if (rank == 0) {
    MPI_Isend(data, kLong, MPI_INT, 0, kTag, pair, &request);
  } else {
    receive_long(pair);
  }
  MPI_Comm_disconnect(&pair);
  if (rank == 0) MPI_Wait(&request, IGNORE);
}
static void disconnect_irecv(void) {
  if (rank == 0) {
    MPI_Irecv(data, 1, MPI_INT, 0, kTag, pair, &request);
  } else {
    hold();
    MPI_Send(data, 1, MPI_INT, 1, kTag, pair);
  }
  MPI_Comm_disconnect(&pair);
  if (rank == 0) MPI_Wait(&request, IGNORE);
}
static void disconnect_ibarrier(void) {
  first_hold();
  MPI_Ibarrier(pair, &request);
  MPI_Comm_disconnect(&pair);
  MPI_Wait(&request, IGNORE);
}
static void disconnect_bsend(void) {
  if (rank == 0) {
    MPI_Comm_attach_buffer(pair, attached, attached_bytes);
    send_long_buffered(pair);
  } else {
    receive_long(pair);
  }
  MPI_Comm_disconnect(&pair);
}
static void disconnect_partitioned(void) {
  if (rank == 0) MPI_Precv_init(data, 1, 1, MPI_INT, 0, kTag, pair, MPI_INFO_NULL, &request);
  if (rank == 1) MPI_Psend_init(data, 1, 1, MPI_INT, 1, kTag, pair, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  if (rank == 1) {
    hold();
    MPI_Pready(0, request);
  }
  MPI_Comm_disconnect(&pair);
  MPI_Wait(&request, IGNORE);
  MPI_Request_free(&request);
}

// ----- messages -----

static void ssend(void) {
  if (rank == 0) MPI_Ssend(data, 1, MPI_INT, 1, kTag, WORLD);
  if (rank == 1) hold(), MPI_Recv(data, 1, MPI_INT, 0, kTag, WORLD, IGNORE);
}
static void sendrecv_replace(void) {
  first_hold();
  MPI_Sendrecv_replace(data, kLong, MPI_INT, PEER, kTag, PEER, kTag, WORLD, IGNORE);
}
static void isendrecv(void) {
  first_hold();
  MPI_Isendrecv(data, 1, MPI_INT, PEER, kTag, data + 1, 1, MPI_INT, PEER, kTag, WORLD, &request);
  MPI_Wait(&request, IGNORE);
}
static void ssend_init(void) {
  if (rank == 1) {
    hold();
    MPI_Recv(data, 1, MPI_INT, 0, kTag, WORLD, IGNORE);
    return;
  }
  MPI_Ssend_init(data, 1, MPI_INT, 1, kTag, WORLD, &request);
  MPI_Start(&request);
  MPI_Wait(&request, IGNORE);
  MPI_Request_free(&request);
}
static void mprobe(void) {
  MPI_Message message;
  if (rank == 0) {
    MPI_Mprobe(1, kTag, WORLD, &message, IGNORE);
    MPI_Mrecv(data, 1, MPI_INT, &message, IGNORE);
  } else {
    hold();
    MPI_Send(data, 1, MPI_INT, 0, kTag, WORLD);
  }
}

// ----- collectives -----

static void ibarrier(void) {
  first_hold();
  MPI_Ibarrier(pair, &request);
  MPI_Wait(&request, IGNORE);
}
static void barrier_init(void) {
  MPI_Barrier_init(pair, MPI_INFO_NULL, &request);
  first_hold();
  MPI_Start(&request);
  MPI_Wait(&request, IGNORE);
  MPI_Request_free(&request);
}
static void bcast(void) {
  first_hold();
  MPI_Bcast(data, kLong, MPI_INT, 0, pair);
}
static void neighbor_allgather(void) {
  MPI_Comm ring;
  const int dims = 2, periods = 1;
  MPI_Cart_create(pair, 1, &dims, &periods, 0, &ring);
  first_hold();
  MPI_Neighbor_allgather(data, 1, MPI_INT, data + 1, 1, MPI_INT, ring);
  MPI_Comm_free(&ring);
}
static void inter_barrier(void) {
  first_hold();
  MPI_Barrier(inter);
}
static void inter_allreduce(void) {
  first_hold();
  MPI_Allreduce(data, data + kLong, kLong, MPI_INT, MPI_SUM, inter);
}

// ----- making communicators -----

static MPI_Comm made;
static void comm_dup(void) {
  first_hold();
  MPI_Comm_dup(pair, &made);
}
static void comm_idup(void) {
  first_hold();
  MPI_Comm_idup(pair, &made, &request);
  MPI_Wait(&request, IGNORE);
}
static void comm_split(void) {
  first_hold();
  MPI_Comm_split(pair, 0, 0, &made);
}
static void comm_split_type(void) {
  first_hold();
  MPI_Comm_split_type(pair, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
}
static MPI_Group both_of(void) {
  MPI_Group group;
  MPI_Comm_group(pair, &group);
  return group;
}
static void comm_create_group(void) {
  MPI_Group group = both_of();
  first_hold();
  MPI_Comm_create_group(WORLD, group, 3, &made);
  MPI_Group_free(&group);
}
static void comm_create_from_group(void) {
  MPI_Group group = both_of();
  first_hold();
  MPI_Comm_create_from_group(group, "whom", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
  MPI_Group_free(&group);
}
static void intercomm_create(void) {
  first_hold();
  MPI_Intercomm_create(MPI_COMM_SELF, 0, pair, PAIR_PEER, 3, &made);
}
static void intercomm_create_from_groups(void) {
  MPI_Group both = both_of(), own, other;
  const int mine = 1 - rank, its = PAIR_PEER;
  MPI_Group_incl(both, 1, &mine, &own);
  MPI_Group_incl(both, 1, &its, &other);
  first_hold();
  MPI_Intercomm_create_from_groups(own, 0, other, 0, "whom", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
  MPI_Group_free(&own);
  MPI_Group_free(&other);
  MPI_Group_free(&both);
}
static void intercomm_merge(void) {
  first_hold();
  MPI_Intercomm_merge(inter, 0, &made);
}
static void dist_graph_create(void) {
  const int degree = 1, from = 1 - rank, to = PAIR_PEER;
  first_hold();
  MPI_Dist_graph_create(pair, 1, &from, &degree, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
}

// ----- windows -----

static MPI_Win win;
static void* base;

static void win_create(void) {
  first_hold();
  MPI_Win_create(data, 64, 4, MPI_INFO_NULL, pair, &win);
  MPI_Win_free(&win);
}
static void win_allocate_shared(void) {
  first_hold();
  MPI_Win_allocate_shared(64, 4, MPI_INFO_NULL, pair, &base, &win);
  MPI_Win_free(&win);
}
static void make_window(void) {
  MPI_Win_allocate(64, 4, MPI_INFO_NULL, pair, &base, &win);
}
static void win_free(void) {
  make_window();
  first_hold();
  MPI_Win_free(&win);
}
static void win_fence(void) {
  make_window();
  MPI_Win_fence(0, win);
  first_hold();
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}
static void locked(void) {
  make_window();
  if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  MPI_Barrier(pair);
  if (rank == 1) {
    hold();
    MPI_Win_unlock(0, win);
  } else {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(data, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Win_free(&win);
}
static void lock_all(void) {
  make_window();
  if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
  MPI_Barrier(pair);
  if (rank == 1) {
    hold();
    MPI_Win_unlock(1, win);
  } else {
    MPI_Win_lock_all(0, win);
    MPI_Win_flush_all(win);
    MPI_Win_unlock_all(win);
  }
  MPI_Win_free(&win);
}
static void lock_rget(void) {
  make_window();
  if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
  MPI_Barrier(pair);
  if (rank == 1) {
    hold();
    MPI_Win_unlock(1, win);
  } else {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    MPI_Rget(data, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Win_unlock(1, win);
  }
  MPI_Win_free(&win);
}
static void win_complete(void) {
  MPI_Group both = both_of();
  make_window();
  if (rank == 1) {
    hold();
    MPI_Win_post(both, 0, win);
    MPI_Win_start(both, 0, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
  } else {
    MPI_Win_post(both, 0, win);
    MPI_Win_start(both, 0, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
  }
  MPI_Group_free(&both);
  MPI_Win_free(&win);
}
static void win_wait(void) {
  MPI_Group both = both_of();
  make_window();
  MPI_Win_post(both, 0, win);
  MPI_Win_start(both, 0, win);
  first_hold();
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  MPI_Group_free(&both);
  MPI_Win_free(&win);
}

// ----- files -----

static MPI_File file;
static void open_file(MPI_Comm comm) {
  MPI_File_open(comm, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                &file);
}
static void file_open(void) {
  first_hold();
  open_file(pair);
  MPI_File_close(&file);
}
static void file_close(void) {
  open_file(pair);
  first_hold();
  MPI_File_close(&file);
}
static void file_write_all(void) {
  open_file(pair);
  first_hold();
  MPI_File_write_at_all(file, kBytes * rank, data, kLong, MPI_INT, IGNORE);
  MPI_File_close(&file);
}
static void file_iwrite_all(void) {
  open_file(pair);
  first_hold();
  MPI_File_iwrite_at_all(file, kBytes * rank, data, kLong, MPI_INT, &request);
  MPI_Wait(&request, IGNORE);
  MPI_File_close(&file);
}
static void file_iwrite_all_close(void) {
  open_file(pair);
  first_hold();
  MPI_File_iwrite_at_all(file, kBytes * rank, data, kLong, MPI_INT, &request);
  MPI_File_close(&file);
  MPI_Wait(&request, IGNORE);
}
static void file_write_all_end(void) {
  open_file(pair);
  first_hold();
  MPI_File_write_at_all_begin(file, kBytes * rank, data, kLong, MPI_INT);
  MPI_File_write_at_all_end(file, data, IGNORE);
  MPI_File_close(&file);
}
static void file_write_ordered(void) {
  open_file(pair);
  first_hold();
  MPI_File_write_ordered(file, data, 1, MPI_INT, IGNORE);
  MPI_File_close(&file);
}
static void file_seek_shared(void) {
  open_file(pair);
  first_hold();
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  MPI_File_close(&file);
}
static void file_set_view(void) {
  open_file(pair);
  first_hold();
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_close(&file);
}
static void file_set_size(void) {
  open_file(pair);
  first_hold();
  MPI_File_set_size(file, 100);
  MPI_File_close(&file);
}
static void file_sync(void) {
  open_file(pair);
  first_hold();
  MPI_File_sync(file);
  MPI_File_close(&file);
}
static void file_set_atomicity(void) {
  open_file(pair);
  first_hold();
  MPI_File_set_atomicity(file, 1);
  MPI_File_close(&file);
}

#define CALL(NAME) \
  { #NAME, NAME }
static const struct {
  const char* name;
  void (*call)(void);
} calls[] = {
    CALL(precv),
    CALL(precv_of_none),
    CALL(psend),
    CALL(buffer_detach),
    CALL(buffer_flush),
    CALL(buffer_iflush),
    CALL(comm_detach_buffer),
    CALL(comm_flush_buffer),
    CALL(comm_iflush_buffer),
    CALL(session_detach_buffer),
    CALL(session_flush_buffer),
    CALL(session_iflush_buffer),
    CALL(session_finalize),
    CALL(finalize_bsend),
    CALL(finalize_isend),
    CALL(finalize_persistent),
    CALL(disconnect_isend),
    CALL(disconnect_irecv),
    CALL(disconnect_ibarrier),
    CALL(disconnect_bsend),
    CALL(disconnect_partitioned),
    CALL(ssend),
    CALL(sendrecv_replace),
    CALL(isendrecv),
    CALL(ssend_init),
    CALL(mprobe),
    CALL(ibarrier),
    CALL(barrier_init),
    CALL(bcast),
    CALL(neighbor_allgather),
    CALL(inter_barrier),
    CALL(inter_allreduce),
    CALL(comm_dup),
    CALL(comm_idup),
    CALL(comm_split),
    CALL(comm_split_type),
    CALL(comm_create_group),
    CALL(comm_create_from_group),
    CALL(intercomm_create),
    CALL(intercomm_create_from_groups),
    CALL(intercomm_merge),
    CALL(dist_graph_create),
    CALL(win_create),
    CALL(win_allocate_shared),
    CALL(win_free),
    CALL(win_fence),
    CALL(locked),
    CALL(lock_all),
    CALL(lock_rget),
    CALL(win_complete),
    CALL(win_wait),
    CALL(file_open),
    CALL(file_close),
    CALL(file_write_all),
    CALL(file_iwrite_all),
    CALL(file_iwrite_all_close),
    CALL(file_write_all_end),
    CALL(file_write_ordered),
    CALL(file_seek_shared),
    CALL(file_set_view),
    CALL(file_set_size),
    CALL(file_sync),
    CALL(file_set_atomicity),
};

int main(int argc, char** argv) {
  char own_name[1000];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_split(WORLD, rank / 2, -rank, &pair);
  if (rank < 2) MPI_Intercomm_create(MPI_COMM_SELF, 0, pair, PAIR_PEER, 1, &inter);
  seconds = argc > 2 ? atoi(argv[2]) : 0;
  attached = malloc((size_t)attached_bytes);
  snprintf(own_name, sizeof own_name, "%s.%s", argv[0], argv[1]);
  file_name = own_name;
  if (rank == 2) rank_2();
  for (size_t i = 0; rank < 2 && i < sizeof calls / sizeof calls[0]; ++i) {
    if (strcmp(calls[i].name, argv[1]) == 0) calls[i].call();
  }
  MPI_Finalize();
  if (seconds > 0 && rank == 0) printf("right\n");
  return 0;
}

/* A collective that is refused at one rank takes no part and no number: that rank's next correct call meets
 * the others', in each form (blocking, nonblocking, persistent) of each collective, with little and with much
 * data. Each is refused because its send and receive buffer have a block that begins with the same byte,
 * which is to be found at every rank where both are significant. The last rank is the wrong one, and the
 * root. Argument: "intra", or "inter" (two groups of one size). */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kBlocking, kNonblocking, kPersistent, kForms };
enum { kCountMax = 20000, kRanksMax = 8 };

typedef struct {
  const int* send;
  int* recv;
  int count; /* of each block */
  MPI_Comm comm;
  int form;
  int size; /* of the ranks it exchanges with */
  int degree;
  int root;
} Call;

static int counts[kRanksMax], places[kRanksMax], byte_places[kRanksMax];
static MPI_Aint neighbor_places[kRanksMax];
static MPI_Datatype types[kRanksMax];

#define BUFFERS(c) (c)->send, (c)->count, MPI_INT, (c)->recv, (c)->count, MPI_INT
#define BUFFERS_V(c) (c)->send, counts, places, MPI_INT, (c)->recv, counts, places, MPI_INT
#define SEND_W (c)->send, counts, byte_places, types, (c)->recv, counts, byte_places, types
#define SEND_NEIGHBOR_W (c)->send, counts, neighbor_places, types, (c)->recv, counts, neighbor_places, types

/* Starts `name` in its form with the arguments that follow, which end in the communicator. */
#define IN_FORM(blocking, nonblocking, persistent, ...)                  \
  static int start_##blocking(const Call* c, MPI_Request* r) {           \
    switch (c->form) {                                                   \
      case kBlocking:                                                    \
        return MPI_##blocking(__VA_ARGS__, c->comm);                     \
      case kNonblocking:                                                 \
        return MPI_##nonblocking(__VA_ARGS__, c->comm, r);               \
      default:                                                           \
        return MPI_##persistent(__VA_ARGS__, c->comm, MPI_INFO_NULL, r); \
    }                                                                    \
  }

IN_FORM(Allgather, Iallgather, Allgather_init, BUFFERS(c))
IN_FORM(Allgatherv, Iallgatherv, Allgatherv_init, c->send, c->count, MPI_INT, c->recv, counts, places,
        MPI_INT)
IN_FORM(Gather, Igather, Gather_init, BUFFERS(c), c->root)
IN_FORM(Gatherv, Igatherv, Gatherv_init, c->send, c->count, MPI_INT, c->recv, counts, places, MPI_INT,
        c->root)
IN_FORM(Scatter, Iscatter, Scatter_init, BUFFERS(c), c->root)
IN_FORM(Scatterv, Iscatterv, Scatterv_init, c->send, counts, places, MPI_INT, c->recv, c->count, MPI_INT,
        c->root)
IN_FORM(Alltoall, Ialltoall, Alltoall_init, BUFFERS(c))
IN_FORM(Alltoallv, Ialltoallv, Alltoallv_init, BUFFERS_V(c))
IN_FORM(Alltoallw, Ialltoallw, Alltoallw_init, SEND_W)
IN_FORM(Reduce, Ireduce, Reduce_init, c->send, c->recv, c->count, MPI_INT, MPI_SUM, c->root)
IN_FORM(Allreduce, Iallreduce, Allreduce_init, c->send, c->recv, c->count, MPI_INT, MPI_SUM)
IN_FORM(Reduce_scatter, Ireduce_scatter, Reduce_scatter_init, c->send, c->recv, counts, MPI_INT, MPI_SUM)
IN_FORM(Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init, c->send, c->recv, c->count,
        MPI_INT, MPI_SUM)
IN_FORM(Scan, Iscan, Scan_init, c->send, c->recv, c->count, MPI_INT, MPI_SUM)
IN_FORM(Exscan, Iexscan, Exscan_init, c->send, c->recv, c->count, MPI_INT, MPI_SUM)
IN_FORM(Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init, BUFFERS(c))
IN_FORM(Neighbor_allgatherv, Ineighbor_allgatherv, Neighbor_allgatherv_init, c->send, c->count, MPI_INT,
        c->recv, counts, places, MPI_INT)
IN_FORM(Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init, BUFFERS(c))
IN_FORM(Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init, BUFFERS_V(c))
IN_FORM(Neighbor_alltoallw, Ineighbor_alltoallw, Neighbor_alltoallw_init, SEND_NEIGHBOR_W)

/* What rank `from` has as element `i` of its block number `block`. */
static int value(int from, int block, int i) {
  return from * 1000 + block * 100 + i % 97;
}

static int sum(int ranks, int block, int i) {
  int total = 0;
  for (int from = 0; from < ranks; ++from) total += value(from, block, i);
  return total;
}

/* What element `i` of block `block` is when all is over at `rank`; -1: nothing comes there. */
typedef int Expected(const Call* c, int rank, int block, int i);
static int gathered(const Call* c, int rank, int block, int i) {
  return (void)c, (void)rank, value(block, 0, i);
}
static int at_root(const Call* c, int rank, int block, int i) {
  return rank == c->root ? value(block, 0, i) : -1;
}
static int scattered(const Call* c, int rank, int block, int i) {
  return block == 0 ? value(c->root, rank, i) : -1;
}
static int exchanged(const Call* c, int rank, int block, int i) {
  return (void)c, value(block, rank, i);
}
static int reduced(const Call* c, int rank, int block, int i) {
  return (void)rank, block == 0 ? sum(c->size, 0, i) : -1;
}
static int root_reduced(const Call* c, int rank, int block, int i) {
  return rank == c->root ? reduced(c, rank, block, i) : -1;
}
static int part(const Call* c, int rank, int block, int i) {
  return block == 0 ? sum(c->size, rank, i) : -1;
}
static int scanned(const Call* c, int rank, int block, int i) {
  return (void)c, block == 0 ? sum(rank + 1, 0, i) : -1;
}
static int before(const Call* c, int rank, int block, int i) {
  return (void)c, block == 0 && rank > 0 ? sum(rank, 0, i) : -1;
}
static int neighbor(const Call* c, int rank, int block) {
  return (rank + (block == 0 ? c->size - 1 : 1)) % c->size;
}
static int from_neighbor(const Call* c, int rank, int block, int i) {
  return block < 2 ? value(neighbor(c, rank, block), 0, i) : -1;
}
static int neighbor_block(const Call* c, int rank, int block, int i) {
  return block < 2 ? value(neighbor(c, rank, block), 1 - block, i) : -1;
}

/* How a collective's buffers can be aliased: they are one; or the one block is a block of the other buffer.
 */
enum { kSame = 1, kBlockOfRecv = 2, kBlockOfSend = 4 };

typedef struct {
  const char* name;
  int (*start)(const Call*, MPI_Request*);
  Expected* expected;
  int aliases;
  int inter; /* whether both buffers are significant at a rank of an intercommunicator */
} Collective;

static const Collective collectives[] = {
    {"allgather", start_Allgather, gathered, kSame | kBlockOfRecv, 1},
    {"allgatherv", start_Allgatherv, gathered, kSame | kBlockOfRecv, 1},
    {"gather", start_Gather, at_root, kSame | kBlockOfRecv, 0},
    {"gatherv", start_Gatherv, at_root, kSame | kBlockOfRecv, 0},
    {"scatter", start_Scatter, scattered, kSame | kBlockOfSend, 0},
    {"scatterv", start_Scatterv, scattered, kSame | kBlockOfSend, 0},
    {"alltoall", start_Alltoall, exchanged, kSame, 1},
    {"alltoallv", start_Alltoallv, exchanged, kSame, 1},
    {"alltoallw", start_Alltoallw, exchanged, kSame, 1},
    {"reduce", start_Reduce, root_reduced, kSame, 0},
    {"allreduce", start_Allreduce, reduced, kSame, 1},
    {"reduce_scatter", start_Reduce_scatter, part, kSame, 1},
    {"reduce_scatter_block", start_Reduce_scatter_block, part, kSame, 1},
    {"scan", start_Scan, scanned, kSame, 0},
    {"exscan", start_Exscan, before, kSame, 0},
    {"neighbor_allgather", start_Neighbor_allgather, from_neighbor, kSame | kBlockOfRecv, 0},
    {"neighbor_allgatherv", start_Neighbor_allgatherv, from_neighbor, kSame | kBlockOfRecv, 0},
    {"neighbor_alltoall", start_Neighbor_alltoall, neighbor_block, kSame, 0},
    {"neighbor_alltoallv", start_Neighbor_alltoallv, neighbor_block, kSame, 0},
    {"neighbor_alltoallw", start_Neighbor_alltoallw, neighbor_block, kSame, 0},
};

static int* send_room;
static int* recv_room;

static void refused(const Collective* what, Call c, int alias, const int* send, int* recv) {
  MPI_Request request = MPI_REQUEST_NULL;
  int error_class = MPI_SUCCESS;
  c.send = send;
  c.recv = recv;
  const int code = what->start(&c, &request);
  MPI_Error_class(code, &error_class);
  CHECK(error_class == MPI_ERR_BUFFER, "%s, form %d, %d elements, alias %d: error class %d", what->name,
        c.form, c.count, alias, error_class);
  CHECK(request == MPI_REQUEST_NULL, "%s, form %d: a request although it was refused", what->name, c.form);
}

static void refuse_all(const Collective* what, Call c) {
  const int last = c.size - 1 < 1 ? 0 : what->expected == from_neighbor ? 1 : c.size - 1;
  if (what->aliases & kSame) refused(what, c, kSame, recv_room, recv_room);
  if (what->aliases & kBlockOfRecv) refused(what, c, kBlockOfRecv, recv_room + last * c.count, recv_room);
  if (what->aliases & kBlockOfSend) refused(what, c, kBlockOfSend, send_room, send_room + last * c.count);
}

static void carry_out(const Collective* what, Call c) {
  MPI_Request request = MPI_REQUEST_NULL;
  c.send = send_room;
  c.recv = recv_room;
  memset(recv_room, 0xff, sizeof(int) * (size_t)kRanksMax * (size_t)c.count);
  CHECK(what->start(&c, &request) == MPI_SUCCESS, "%s, form %d is refused", what->name, c.form);
  if (c.form == kPersistent) MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (c.form == kPersistent) MPI_Request_free(&request);
}

static void check_result(const Collective* what, Call c, int rank) {
  for (int block = 0; block < c.size; ++block) {
    for (int i = 0; i < c.count; ++i) {
      const int expected = what->expected(&c, rank, block, i);
      CHECK(recv_room[block * c.count + i] == expected,
            "%s, form %d: block %d, element %d is %d, expected %d", what->name, c.form, block, i,
            recv_room[block * c.count + i], expected);
    }
  }
}

static void set_blocks(int count) {
  for (int block = 0; block < kRanksMax; ++block) {
    counts[block] = count;
    places[block] = block * count;
    byte_places[block] = block * count * (int)sizeof(int);
    neighbor_places[block] = byte_places[block];
    types[block] = MPI_INT;
  }
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  send_room = malloc(sizeof(int) * kRanksMax * kCountMax);
  recv_room = malloc(sizeof(int) * kRanksMax * kCountMax);
  MPI_Comm comm;
  const int is_inter = argc > 1 && strcmp(argv[1], "inter") == 0;
  if (is_inter) {
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 == 0 ? 1 : 0, 1, &comm);
    MPI_Comm_free(&half);
  } else {
    const int periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &comm);
  }
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int several[] = {1, 40, kCountMax};
  for (int place = 0; place < 3; ++place) {
    const int count = several[place];
    set_blocks(count);
    for (int block = 0; block < kRanksMax; ++block) {
      for (int i = 0; i < count; ++i) send_room[block * count + i] = value(rank, block, i);
    }
    for (size_t number = 0; number < sizeof collectives / sizeof collectives[0]; ++number) {
      const Collective* what = &collectives[number];
      for (int form = 0; form < kForms; ++form) {
        Call c = {.count = count, .comm = comm, .form = form, .size = size, .root = size - 1};
        if (is_inter) {
          if (!what->inter) continue;
          MPI_Comm_remote_size(comm, &c.size);
          if (rank == size - 1) refuse_all(what, c);
          carry_out(what, c); /* its truncation, or a hang, would tell that it met another call */
          continue;
        }
        /* The first rank's receive buffer is not significant in MPI_Exscan. */
        if (rank == size - 1 && !(what->expected == before && rank == 0)) refuse_all(what, c);
        carry_out(what, c);
        check_result(what, c, rank);
      }
    }
  }
  int ranks = 1, total = 0;
  MPI_Allreduce(&ranks, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(total == size, "%d ranks at the end", total);
  if (rank == 0) printf("well\n");
  MPI_Comm_free(&comm);
  free(send_room);
  free(recv_room);
  MPI_Finalize();
  return 0;
}

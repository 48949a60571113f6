// The collectives as algorithms.cpp and collective_times.cpp call them: root is rank 0, reductions are sums
// of doubles, buffers come from malloc. `bytes` is the whole vector of bcast, reduce, allreduce, scan and
// exscan, and one rank's block of the others. Those in place leave the other buffer alone. And messages
// between two ranks, of `bytes` each.
//
// Data that nobody writes stays in the caches of all who read it, and costs nothing to move. So, as programs
// do, each rank writes each cache line of what it gives before a call, and reads each of what it got after
// it. What that takes with nothing else to do does not count as the call's.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace bench {

inline constexpr std::size_t kBlockBytesMax = 64 << 20;

struct Place {
  int rank = 0, size = 1;
  explicit Place(MPI_Comm comm) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
};

/// Room for one vector, or for a block of each rank, filled.
struct Buffers {
  double* out;
  double* in;
  int count;                               // doubles in the vector or in a block
  std::vector<int> counts, displacements;  // of the blocks
  Place place{MPI_COMM_WORLD};

  Buffers(std::size_t bytes, int blocks) : count(static_cast<int>(bytes / sizeof(double))) {
    for (int rank = 0; rank < place.size; ++rank) {
      counts.push_back(count);
      displacements.push_back(rank * count);
    }
    const std::size_t room = (static_cast<std::size_t>(count) * static_cast<std::size_t>(blocks)) + 1;
    out = make(room, 1);
    in = make(room, 2);
  }
  ~Buffers() {
    std::free(in);
    std::free(out);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

 private:
  static double* make(std::size_t count, double value) {
    auto* buffer = static_cast<double*>(std::malloc(count * sizeof(double)));
    if (buffer == nullptr) {
      std::fprintf(stderr, "no memory for %zu doubles\n", count);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    std::fill(buffer, buffer + count, value);
    return buffer;
  }
};

inline void barrier(const Buffers&) {
  MPI_Barrier(MPI_COMM_WORLD);
}
inline void bcast(const Buffers& at) {
  MPI_Bcast(at.in, at.count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
inline void reduce(const Buffers& at) {
  MPI_Reduce(at.out, at.in, at.count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}
inline void allreduce(const Buffers& at) {
  MPI_Allreduce(at.out, at.in, at.count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
inline void scan(const Buffers& at) {
  MPI_Scan(at.out, at.in, at.count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
inline void allgather(const Buffers& at) {
  MPI_Allgather(at.out, at.count, MPI_DOUBLE, at.in, at.count, MPI_DOUBLE, MPI_COMM_WORLD);
}
inline void alltoall(const Buffers& at) {
  MPI_Alltoall(at.out, at.count, MPI_DOUBLE, at.in, at.count, MPI_DOUBLE, MPI_COMM_WORLD);
}
inline void reduce_scatter_block(const Buffers& at) {
  MPI_Reduce_scatter_block(at.out, at.in, at.count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
inline void gather(const Buffers& at) {
  MPI_Gather(at.out, at.count, MPI_DOUBLE, at.in, at.count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
inline void scatter(const Buffers& at) {
  MPI_Scatter(at.out, at.count, MPI_DOUBLE, at.in, at.count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

inline void allgatherv(const Buffers& at) {
  MPI_Allgatherv(at.out, at.count, MPI_DOUBLE, at.in, at.counts.data(), at.displacements.data(), MPI_DOUBLE,
                 MPI_COMM_WORLD);
}
inline void alltoallv(const Buffers& at) {
  MPI_Alltoallv(at.out, at.counts.data(), at.displacements.data(), MPI_DOUBLE, at.in, at.counts.data(),
                at.displacements.data(), MPI_DOUBLE, MPI_COMM_WORLD);
}
inline void ialltoall(const Buffers& at) {
  MPI_Request request;
  MPI_Ialltoall(at.out, at.count, MPI_DOUBLE, at.in, at.count, MPI_DOUBLE, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
inline void ialltoall_in_place(const Buffers& at) {
  MPI_Request request;
  MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DOUBLE, at.in, at.count, MPI_DOUBLE, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
inline void exscan(const Buffers& at) {
  MPI_Exscan(at.out, at.in, at.count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

inline void reduce_in_place(const Buffers& at) {
  const void* const mine = at.place.rank == 0 ? MPI_IN_PLACE : at.out;
  MPI_Reduce(mine, at.in, at.count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}
inline void allreduce_in_place(const Buffers& at) {
  MPI_Allreduce(MPI_IN_PLACE, at.in, at.count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
inline void scan_in_place(const Buffers& at) {
  MPI_Scan(MPI_IN_PLACE, at.in, at.count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
inline void exscan_in_place(const Buffers& at) {
  MPI_Exscan(MPI_IN_PLACE, at.in, at.count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
inline void allgather_in_place(const Buffers& at) {
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DOUBLE, at.in, at.count, MPI_DOUBLE, MPI_COMM_WORLD);
}
inline void allgatherv_in_place(const Buffers& at) {
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DOUBLE, at.in, at.counts.data(), at.displacements.data(), MPI_DOUBLE,
                 MPI_COMM_WORLD);
}
inline void alltoall_in_place(const Buffers& at) {
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DOUBLE, at.in, at.count, MPI_DOUBLE, MPI_COMM_WORLD);
}
inline void alltoallv_in_place(const Buffers& at) {
  MPI_Alltoallv(MPI_IN_PLACE, nullptr, nullptr, MPI_DOUBLE, at.in, at.counts.data(), at.displacements.data(),
                MPI_DOUBLE, MPI_COMM_WORLD);
}
inline void reduce_scatter_block_in_place(const Buffers& at) {
  MPI_Reduce_scatter_block(MPI_IN_PLACE, at.in, at.count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
inline void gather_in_place(const Buffers& at) {
  const void* const mine = at.place.rank == 0 ? MPI_IN_PLACE : at.out;
  MPI_Gather(mine, at.count, MPI_DOUBLE, at.in, at.count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
inline void scatter_in_place(const Buffers& at) {
  void* const mine = at.place.rank == 0 ? MPI_IN_PLACE : at.in;
  MPI_Scatter(at.out, at.count, MPI_DOUBLE, mine, at.count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

// Messages between two ranks, 0 and 1, 2 and 3, and so on.

constexpr int kInARow = 16;

inline int partner(const Buffers& at) {
  return at.place.rank ^ 1;
}
inline void pingpong(const Buffers& at) {
  const auto send = [&] { MPI_Send(at.out, at.count, MPI_DOUBLE, partner(at), 0, MPI_COMM_WORLD); };
  if (at.place.rank % 2 == 0) send();
  MPI_Recv(at.in, at.count, MPI_DOUBLE, partner(at), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (at.place.rank % 2 != 0) send();
}
inline void sendrecv(const Buffers& at) {
  MPI_Sendrecv(at.out, at.count, MPI_DOUBLE, partner(at), 0, at.in, at.count, MPI_DOUBLE, partner(at), 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
inline void sendrecv_replace(const Buffers& at) {
  MPI_Sendrecv_replace(at.in, at.count, MPI_DOUBLE, partner(at), 0, partner(at), 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
}
inline void isend_irecv(const Buffers& at) {
  MPI_Request both[2];
  MPI_Irecv(at.in, at.count, MPI_DOUBLE, partner(at), 0, MPI_COMM_WORLD, &both[0]);
  MPI_Isend(at.out, at.count, MPI_DOUBLE, partner(at), 0, MPI_COMM_WORLD, &both[1]);
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
}
/// Even ranks send, into receives that are there, a sixteenth of the buffer in each message.
inline void in_a_row(const Buffers& at) {
  const bool sends = at.place.rank % 2 == 0;
  MPI_Request requests[kInARow];
  char go = 0;
  for (int i = 0; i < kInARow && !sends; ++i)
    MPI_Irecv(at.in + i * at.count, at.count, MPI_DOUBLE, partner(at), 0, MPI_COMM_WORLD, &requests[i]);
  sends ? MPI_Recv(&go, 1, MPI_CHAR, partner(at), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        : MPI_Send(&go, 1, MPI_CHAR, partner(at), 1, MPI_COMM_WORLD);
  for (int i = 0; i < kInARow && sends; ++i)
    MPI_Isend(at.out + i * at.count, at.count, MPI_DOUBLE, partner(at), 0, MPI_COMM_WORLD, &requests[i]);
  MPI_Waitall(kInARow, requests, MPI_STATUSES_IGNORE);
  sends ? MPI_Recv(&go, 1, MPI_CHAR, partner(at), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        : MPI_Send(&go, 1, MPI_CHAR, partner(at), 1, MPI_COMM_WORLD);
}

/// How much of a buffer: of a vector, or of one rank's block, all; or the blocks of all ranks.
enum class Part { kNone, kOne, kAll };
/// The buffer of what a rank gives.
enum class Given { kOut, kIn, kInAtRoot };

struct Use {
  Part root_gives, others_give, root_gets, others_get;
  Given given = Given::kOut;
};
inline constexpr Use kNothing{Part::kNone, Part::kNone, Part::kNone, Part::kNone};
inline constexpr Use kEachOne{Part::kOne, Part::kOne, Part::kOne, Part::kOne};
inline constexpr Use kOneToAll{Part::kOne, Part::kOne, Part::kAll, Part::kAll};
inline constexpr Use kAllToAll{Part::kAll, Part::kAll, Part::kAll, Part::kAll};
inline constexpr Use kAllToOne{Part::kAll, Part::kAll, Part::kOne, Part::kOne};
inline constexpr Use kRootGets{Part::kOne, Part::kOne, Part::kOne, Part::kNone};
inline constexpr Use kRootGetsAll{Part::kOne, Part::kOne, Part::kAll, Part::kNone};
inline constexpr Use kRootGives{Part::kOne, Part::kNone, Part::kNone, Part::kOne};
inline constexpr Use kRootGivesAll{Part::kAll, Part::kNone, Part::kOne, Part::kOne};
inline constexpr Use kRowToOther{Part::kAll, Part::kNone, Part::kNone, Part::kAll};
constexpr Use in(Given buffer, Use use) {
  use.given = buffer;
  return use;
}

struct Operation {
  const char* name;
  void (*call)(const Buffers& at);
  bool blocks;  // a buffer has a block of each rank
  Use use;
  int row = 1;       // so many blocks where it has not
  int messages = 1;  // that follow each other in a call: what is timed is one
};

inline const std::vector<Operation> kOperations = {
    {"barrier", barrier, false, kNothing},
    {"bcast", bcast, false, in(Given::kIn, kRootGives)},
    {"reduce", reduce, false, kRootGets},
    {"allreduce", allreduce, false, kEachOne},
    {"scan", scan, false, kEachOne},
    {"allgather", allgather, true, kOneToAll},
    {"alltoall", alltoall, true, kAllToAll},
    {"reduce_scatter_block", reduce_scatter_block, true, kAllToOne},
    {"gather", gather, true, kRootGetsAll},
    {"scatter", scatter, true, kRootGivesAll},
    {"allgatherv", allgatherv, true, kOneToAll},
    {"alltoallv", alltoallv, true, kAllToAll},
    {"ialltoall", ialltoall, true, kAllToAll},
    {"ialltoall_in_place", ialltoall_in_place, true, in(Given::kIn, kAllToAll)},
    {"exscan", exscan, false, kEachOne},
    {"reduce_in_place", reduce_in_place, false, in(Given::kInAtRoot, kRootGets)},
    {"allreduce_in_place", allreduce_in_place, false, in(Given::kIn, kEachOne)},
    {"scan_in_place", scan_in_place, false, in(Given::kIn, kEachOne)},
    {"exscan_in_place", exscan_in_place, false, in(Given::kIn, kEachOne)},
    {"allgather_in_place", allgather_in_place, true, in(Given::kIn, kOneToAll)},
    {"allgatherv_in_place", allgatherv_in_place, true, in(Given::kIn, kOneToAll)},
    {"alltoall_in_place", alltoall_in_place, true, in(Given::kIn, kAllToAll)},
    {"alltoallv_in_place", alltoallv_in_place, true, in(Given::kIn, kAllToAll)},
    {"reduce_scatter_block_in_place", reduce_scatter_block_in_place, true, in(Given::kIn, kAllToOne)},
    {"gather_in_place", gather_in_place, true, in(Given::kInAtRoot, kRootGetsAll)},
    {"scatter_in_place", scatter_in_place, true, kRootGivesAll},
    {"pingpong", pingpong, false, kEachOne, 1, 2},
    {"sendrecv", sendrecv, false, kEachOne},
    {"sendrecv_replace", sendrecv_replace, false, in(Given::kIn, kEachOne)},
    {"isend_irecv", isend_irecv, false, kEachOne},
    {"in_a_row", in_a_row, false, kRowToOther, kInARow, kInARow},
};

/// One rank's calls of an operation, with data that it writes before and reads after.
class Calls {
 public:
  Calls(const Operation& operation, std::size_t bytes, const Place& place)
      : operation_(operation),
        blocks_(operation.blocks ? place.size : operation.row),
        buffers_(bytes, blocks_),
        given_(given(place)),
        given_count_(doubles(place.rank == 0 ? operation.use.root_gives : operation.use.others_give)),
        got_count_(doubles(place.rank == 0 ? operation.use.root_gets : operation.use.others_get)) {
    measure_use();
  }

  void call() {
    write();
    operation_.call(buffers_);
    read();
  }
  /// Seconds of one of so many calls, one right after the other, without the data's own use.
  double seconds(int calls) {
    const double begin = MPI_Wtime();
    for (int number = 0; number < calls; ++number) call();
    const double of_call = (MPI_Wtime() - begin) / std::max(calls, 1) - use_seconds_;
    return std::max(of_call, 0.0) / operation_.messages;
  }

 private:
  static constexpr std::size_t kLine = 64 / sizeof(double);

  double* given(const Place& place) {
    const Given where = operation_.use.given;
    const bool in_place = where == Given::kIn || (where == Given::kInAtRoot && place.rank == 0);
    if (!in_place) return buffers_.out;
    const bool own_block = operation_.blocks && operation_.use.others_give == Part::kOne;
    return buffers_.in + (own_block ? buffers_.displacements[static_cast<std::size_t>(place.rank)] : 0);
  }
  std::size_t doubles(Part part) const {
    const auto count = static_cast<std::size_t>(buffers_.count);
    return part == Part::kNone ? 0 : part == Part::kOne ? count : count * static_cast<std::size_t>(blocks_);
  }
  void write() {
    ++number_;
    for (std::size_t i = 0; i < given_count_; i += kLine) given_[i] = number_;
  }
  void read() {
    double sum = 0;
    for (std::size_t i = 0; i < got_count_; i += kLine) sum += buffers_.in[i];
    sum_ = sum;
  }
  /// What writing and reading take while all ranks do nothing else.
  void measure_use() {
    constexpr int kTries = 5;
    constexpr double kTrySeconds = 0.0002;
    use_seconds_ = given_count_ + got_count_ == 0 ? 0 : 1;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      int rounds = 0;
      while (rounds < 3 || MPI_Wtime() - begin < kTrySeconds) {
        write();
        read();
        ++rounds;
      }
      use_seconds_ = std::min(use_seconds_, (MPI_Wtime() - begin) / rounds);
    }
  }

  const Operation& operation_;
  const int blocks_;  // of a buffer
  Buffers buffers_;
  double* given_;
  std::size_t given_count_, got_count_;
  double number_ = 0;
  volatile double sum_ = 0;
  double use_seconds_ = 0;
};

}  // namespace bench

// The collectives as algorithms.cpp and collective_times.cpp call them: root is rank 0, reductions are sums
// of doubles, buffers come from malloc. `bytes` is the whole vector of bcast, reduce, allreduce, scan and
// exscan, and one rank's block of the others. Those in place leave the other buffer alone.
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

  Buffers(std::size_t bytes, bool blocks, int ranks) : count(static_cast<int>(bytes / sizeof(double))) {
    for (int rank = 0; rank < ranks; ++rank) {
      counts.push_back(count);
      displacements.push_back(rank * count);
    }
    const std::size_t room =
        (static_cast<std::size_t>(count) * static_cast<std::size_t>(blocks ? ranks : 1)) + 1;
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

struct Operation {
  const char* name;
  void (*call)(const Buffers& at);
  bool blocks;  // a buffer has a block of each rank
};

inline const std::vector<Operation> kOperations = {
    {"barrier", barrier, false},
    {"bcast", bcast, false},
    {"reduce", reduce, false},
    {"allreduce", allreduce, false},
    {"scan", scan, false},
    {"allgather", allgather, true},
    {"alltoall", alltoall, true},
    {"reduce_scatter_block", reduce_scatter_block, true},
    {"gather", gather, true},
    {"scatter", scatter, true},
    {"allgatherv", allgatherv, true},
    {"alltoallv", alltoallv, true},
    {"ialltoall", ialltoall, true},
    {"ialltoall_in_place", ialltoall_in_place, true},
    {"exscan", exscan, false},
    {"reduce_in_place", reduce_in_place, false},
    {"allreduce_in_place", allreduce_in_place, false},
    {"scan_in_place", scan_in_place, false},
    {"exscan_in_place", exscan_in_place, false},
    {"allgather_in_place", allgather_in_place, true},
    {"allgatherv_in_place", allgatherv_in_place, true},
    {"alltoall_in_place", alltoall_in_place, true},
    {"alltoallv_in_place", alltoallv_in_place, true},
    {"reduce_scatter_block_in_place", reduce_scatter_block_in_place, true},
    {"gather_in_place", gather_in_place, true},
    {"scatter_in_place", scatter_in_place, true},
};

}  // namespace bench

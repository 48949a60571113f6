// The collectives as algorithms.cpp calls them: root is rank 0, reductions are sums of doubles,
// buffers come from malloc. `bytes` is the whole vector of bcast, reduce, allreduce and scan, and one rank's
// block of the others.
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
  int count;  // doubles in the vector or in a block

  Buffers(std::size_t bytes, bool blocks, int ranks) : count(static_cast<int>(bytes / sizeof(double))) {
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

struct Operation {
  const char* name;
  void (*call)(const Buffers& at);
  bool blocks;  // a buffer has a block of each rank
};

inline const std::vector<Operation> kOperations = {
    {"barrier", barrier, false},  {"bcast", bcast, false},
    {"reduce", reduce, false},    {"allreduce", allreduce, false},
    {"scan", scan, false},        {"allgather", allgather, true},
    {"alltoall", alltoall, true}, {"reduce_scatter_block", reduce_scatter_block, true},
    {"gather", gather, true},     {"scatter", scatter, true},
};

}  // namespace bench

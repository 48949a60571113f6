// The collectives as the benchmark programs call them: root is rank 0, reductions are sums of doubles,
// buffers come from malloc. `bytes` is the whole vector of bcast, reduce, allreduce and scan, and one rank's
// block of the others.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace bench {

inline constexpr std::size_t kKiB = 1 << 10, kMiB = 1 << 20, kBlockBytesMax = 64 * kMiB;

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
  std::vector<std::size_t> sizes;
};

inline const std::vector<Operation> kOperations = {
    {"barrier", barrier, false, {0}},
    {"bcast", bcast, false, {8, kKiB, 64 * kKiB, kMiB}},
    {"reduce", reduce, false, {8, kKiB, 64 * kKiB, kMiB}},
    {"allreduce", allreduce, false, {8, kKiB, 64 * kKiB, kMiB}},
    {"scan", scan, false, {8, 64 * kKiB}},
    {"allgather", allgather, true, {8, kKiB, 64 * kKiB}},
    {"alltoall", alltoall, true, {64, 32 * kKiB, 512 * kKiB}},
    {"reduce_scatter_block", reduce_scatter_block, true, {8, 32 * kKiB, 512 * kKiB}},
    {"gather", gather, true, {8, 64 * kKiB}},
    {"scatter", scatter, true, {8, 64 * kKiB}},
};

/// What the words of a command line ask for: names of operations and sizes. Ends the program on any other
/// word.
struct Wanted {
  std::vector<const Operation*> operations;
  std::vector<std::size_t> sizes;  // none: each operation's own

  Wanted(const char* program, int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      if (!take_operation(argv[i]) && !take_size(argv[i])) refuse(program, argv[i]);
    }
    if (!operations.empty()) return;
    for (const Operation& operation : kOperations) operations.push_back(&operation);
  }

  const std::vector<std::size_t>& sizes_of(const Operation& operation) const {
    return sizes.empty() || operation.call == barrier ? operation.sizes : sizes;
  }

 private:
  bool take_operation(std::string_view word) {
    for (const Operation& operation : kOperations) {
      if (operation.name != word) continue;
      operations.push_back(&operation);
      return true;
    }
    return false;
  }
  bool take_size(const char* word) {
    char* end = nullptr;
    const std::size_t bytes = std::strtoull(word, &end, 10);
    if (end == word || *end != '\0' || bytes % sizeof(double) != 0 || bytes > kBlockBytesMax) return false;
    sizes.push_back(bytes);
    return true;
  }
  static void refuse(const char* program, const char* word) {
    std::fprintf(stderr, "%s: \"%s\", expected bytes (multiples of 8, up to %zu) or some of", program, word,
                 kBlockBytesMax);
    for (const Operation& operation : kOperations) std::fprintf(stderr, " %s", operation.name);
    std::fprintf(stderr, "\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
};

}  // namespace bench

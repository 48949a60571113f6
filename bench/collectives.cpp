// The collectives, back to back: seconds of one, at the rank that took longest. Root is rank 0; reductions
// are sums of doubles; buffers come from malloc and are not touched between the calls. `bytes` is the whole
// vector of bcast, reduce, allreduce and scan, and one rank's block of the others.
//
//   collectives                    every operation at the sizes of its own
//   collectives bcast reduce 8 64  these operations (without any: all) at these sizes (without any: their
//   own)
#include <cstdlib>
#include <string_view>

#include "measure.hpp"

namespace {

constexpr std::size_t kKiB = 1 << 10, kMiB = 1 << 20, kBlockBytesMax = 64 * kMiB;

/// Room for one vector, or for a block of each rank.
struct Buffers {
  double* out;
  double* in;
  int count;  // doubles in the vector or in a block
};

void barrier(const Buffers&) {
  MPI_Barrier(MPI_COMM_WORLD);
}
void bcast(const Buffers& at) {
  MPI_Bcast(at.in, at.count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
void reduce(const Buffers& at) {
  MPI_Reduce(at.out, at.in, at.count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}
void allreduce(const Buffers& at) {
  MPI_Allreduce(at.out, at.in, at.count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
void scan(const Buffers& at) {
  MPI_Scan(at.out, at.in, at.count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
void allgather(const Buffers& at) {
  MPI_Allgather(at.out, at.count, MPI_DOUBLE, at.in, at.count, MPI_DOUBLE, MPI_COMM_WORLD);
}
void alltoall(const Buffers& at) {
  MPI_Alltoall(at.out, at.count, MPI_DOUBLE, at.in, at.count, MPI_DOUBLE, MPI_COMM_WORLD);
}
void reduce_scatter_block(const Buffers& at) {
  MPI_Reduce_scatter_block(at.out, at.in, at.count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
void gather(const Buffers& at) {
  MPI_Gather(at.out, at.count, MPI_DOUBLE, at.in, at.count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
void scatter(const Buffers& at) {
  MPI_Scatter(at.out, at.count, MPI_DOUBLE, at.in, at.count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

struct Operation {
  const char* name;
  void (*call)(const Buffers& at);
  bool blocks;  // a buffer has a block of each rank
  std::vector<std::size_t> sizes;
};

const std::vector<Operation> kOperations = {
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

double* make_buffer(std::size_t bytes, double value) {
  const std::size_t count = bytes / sizeof(double);
  auto* buffer = static_cast<double*>(std::malloc(bytes));
  if (buffer == nullptr) {
    std::fprintf(stderr, "collectives: no memory for %zu bytes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  std::fill(buffer, buffer + count, value);
  return buffer;
}

void measure(const bench::Place& place, const Operation& operation, std::size_t bytes) {
  const std::size_t room =
      bytes * (operation.blocks ? static_cast<std::size_t>(place.size) : 1) + sizeof(double);
  const Buffers at = {make_buffer(room, 1), make_buffer(room, 2), static_cast<int>(bytes / sizeof(double))};
  const auto own = bench::batches(bytes < 65536 ? 20 : 2, 5, MPI_COMM_WORLD, [&](int rounds) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_seconds();
    for (int round = 0; round < rounds; ++round) operation.call(at);
    return (now_seconds() - begin) / rounds;
  });
  std::vector<double> slowest(own.size());
  MPI_Reduce(own.data(), slowest.data(), static_cast<int>(own.size()), MPI_DOUBLE, MPI_MAX, 0,
             MPI_COMM_WORLD);
  if (place.rank == 0) bench::report(operation.name, bytes, false, place.size, slowest);
  std::free(at.in);
  std::free(at.out);
}

/// Refuses what is neither an operation's name nor a size.
void refuse(const char* word) {
  std::fprintf(stderr, "collectives: \"%s\", expected bytes (multiples of 8, up to %zu) or some of", word,
               kBlockBytesMax);
  for (const Operation& operation : kOperations) std::fprintf(stderr, " %s", operation.name);
  std::fprintf(stderr, "\n");
  MPI_Abort(MPI_COMM_WORLD, 2);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bench::Place place(MPI_COMM_WORLD);
  std::vector<const Operation*> wanted;
  std::vector<std::size_t> sizes;
  for (int i = 1; i < argc; ++i) {
    const std::size_t before = wanted.size();
    for (const Operation& operation : kOperations) {
      if (std::string_view(operation.name) == argv[i]) wanted.push_back(&operation);
    }
    if (wanted.size() > before) continue;
    char* end = nullptr;
    const std::size_t bytes = std::strtoull(argv[i], &end, 10);
    if (end == argv[i] || *end != '\0' || bytes % sizeof(double) != 0 || bytes > kBlockBytesMax)
      refuse(argv[i]);
    sizes.push_back(bytes);
  }
  if (wanted.empty()) {
    for (const Operation& operation : kOperations) wanted.push_back(&operation);
  }
  for (const Operation* operation : wanted) {
    const bool own = sizes.empty() || operation->call == barrier;
    for (const std::size_t bytes : own ? operation->sizes : sizes) measure(place, *operation, bytes);
  }
  MPI_Finalize();
  return 0;
}

// The collectives of operations.hpp, back to back: seconds of one, at the rank that took longest. The buffers
// are not touched between the calls.
//
//   collectives                    every operation at the sizes of its own
//   collectives bcast reduce 8 64  these operations (without any: all) at these sizes (without any: their
//   own)
#include "measure.hpp"
#include "operations.hpp"

namespace {

void measure(const bench::Place& place, const bench::Operation& operation, std::size_t bytes) {
  const bench::Buffers at(bytes, operation.blocks, place.size);
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
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bench::Place place(MPI_COMM_WORLD);
  const bench::Wanted wanted("collectives", argc, argv);
  for (const bench::Operation* operation : wanted.operations) {
    for (const std::size_t bytes : wanted.sizes_of(*operation)) measure(place, *operation, bytes);
  }
  MPI_Finalize();
  return 0;
}

// One round trip at a time between ranks 0 and 1; the least of many, which is what a message costs where
// nothing disturbs it, also on a busy machine, and the median. Arguments: sizes in bytes. One row of JSON for
// each.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "shared_pair.h"

namespace {

constexpr std::size_t kBytesMax = 8 << 20;

double round_trip(int rank, int bytes, unsigned char* memory) {
  const int peer = 1 - rank;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now_seconds();
  if (rank == 0) MPI_Send(memory, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
  MPI_Recv(memory, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(memory, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
  return now_seconds() - begin;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) {
    std::fprintf(stderr, "network: %d ranks, expected 2\n", size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  auto* memory = static_cast<unsigned char*>(std::malloc(kBytesMax));
  std::memset(memory, 1, kBytesMax);
  for (int i = 1; i < argc; ++i) {
    const auto bytes = std::min<std::size_t>(std::strtoull(argv[i], nullptr, 10), kBytesMax);
    std::vector<double> seconds;
    for (int trip = 0; trip < (bytes < 65536 ? 2000 : 200); ++trip)
      seconds.push_back(round_trip(rank, static_cast<int>(bytes), memory) / 2);
    std::sort(seconds.begin(), seconds.end());
    if (rank == 0)
      std::printf("{\"bytes\": %zu, \"seconds\": [%.4e, %.4e]}\n", bytes, seconds[0],
                  seconds[seconds.size() / 2]);
  }
  std::free(memory);
  MPI_Finalize();
  return 0;
}

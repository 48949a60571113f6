// One-sided communication between two ranks, on a window from MPI_Win_allocate: seconds of
//   fence              MPI_Win_fence, back to back
//   put_fence          rank 0's MPI_Put of 8 B or 4 MiB, then MPI_Win_fence
//   put_flush          rank 0's MPI_Put of 8 B and MPI_Win_flush under MPI_Win_lock_all
//   fetch_and_op_flush rank 0's MPI_Fetch_and_op (MPI_SUM of a 64-bit integer) and MPI_Win_flush, the same
// and put_fence_created: 4 MiB as above, on a window from MPI_Win_create over memory from malloc.
#include <cstdlib>

#include "measure.hpp"

namespace {

constexpr std::size_t kLargeBytes = 4 << 20;

struct Window {
  MPI_Win win = MPI_WIN_NULL;
  unsigned char* origin = nullptr;
  int rank = 0;
};

double fences(const Window& window, int rounds) {
  MPI_Win_fence(0, window.win);
  const double begin = now_seconds();
  for (int round = 0; round < rounds; ++round) MPI_Win_fence(0, window.win);
  return (now_seconds() - begin) / rounds;
}

double put_fences(const Window& window, std::size_t bytes, int rounds) {
  const int count = static_cast<int>(bytes);
  MPI_Win_fence(0, window.win);
  const double begin = now_seconds();
  for (int round = 0; round < rounds; ++round) {
    if (window.rank == 0) MPI_Put(window.origin, count, MPI_BYTE, 1, 0, count, MPI_BYTE, window.win);
    MPI_Win_fence(0, window.win);
  }
  return (now_seconds() - begin) / rounds;
}

/// Rank 0 alone has something to do, and its time counts.
template <class Operation>
double flushes(const Window& window, int rounds, Operation operation) {
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = 0;
  if (window.rank == 0) {
    const double begin = now_seconds();
    for (int round = 0; round < rounds; ++round) {
      operation();
      MPI_Win_flush(1, window.win);
    }
    seconds = (now_seconds() - begin) / rounds;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return seconds;
}

void measure_fences(const Window& window, const char* put_name, bool large_only) {
  const auto show = [&](const char* row, std::size_t bytes, const std::vector<double>& seconds) {
    if (window.rank == 0) bench::report(row, bytes, false, 2, seconds);
  };
  if (!large_only) {
    show("fence", 0, bench::batches(200, 10, MPI_COMM_WORLD, [&](int n) { return fences(window, n); }));
    show(put_name, 8,
         bench::batches(200, 10, MPI_COMM_WORLD, [&](int n) { return put_fences(window, 8, n); }));
  }
  show(put_name, kLargeBytes,
       bench::batches(4, 10, MPI_COMM_WORLD, [&](int n) { return put_fences(window, kLargeBytes, n); }));
}

void measure_flushes(const Window& window) {
  MPI_Win_lock_all(0, window.win);
  const auto put = bench::batches(200, 10, MPI_COMM_WORLD, [&](int rounds) {
    return flushes(window, rounds,
                   [&] { MPI_Put(window.origin, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, window.win); });
  });
  std::int64_t one = 1, before = 0;
  const auto add = bench::batches(200, 10, MPI_COMM_WORLD, [&](int rounds) {
    return flushes(window, rounds,
                   [&] { MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 1, 64, MPI_SUM, window.win); });
  });
  MPI_Win_unlock_all(window.win);
  if (window.rank != 0) return;
  bench::report("put_flush", 8, false, 2, put);
  bench::report("fetch_and_op_flush", 8, false, 2, add);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bench::Place place(MPI_COMM_WORLD);
  if (place.size != 2) {
    std::fprintf(stderr, "rma: %d ranks, expected 2\n", place.size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  Window window;
  window.rank = place.rank;
  window.origin = static_cast<unsigned char*>(std::malloc(kLargeBytes));
  auto* memory = static_cast<unsigned char*>(std::malloc(kLargeBytes));
  std::memset(window.origin, 1, kLargeBytes);
  std::memset(memory, 2, kLargeBytes);

  unsigned char* allocated = nullptr;
  MPI_Win_allocate(kLargeBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &window.win);
  std::memset(allocated, 3, kLargeBytes);
  measure_fences(window, "put_fence", false);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win);
  measure_flushes(window);
  MPI_Win_free(&window.win);

  MPI_Win_create(memory, kLargeBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.win);
  measure_fences(window, "put_fence_created", true);
  MPI_Win_free(&window.win);
  std::free(memory);
  std::free(window.origin);
  MPI_Finalize();
  return 0;
}

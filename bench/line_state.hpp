// How long a cache line takes from rank 0 to rank 1 and back, without MPI's help: a virtual machine's host
// may move its processors to others, which share no cache, and every time depends on that.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace bench {

class LineState {
 public:
  /// Collective over MPI_COMM_WORLD.
  LineState() {
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node_);
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_rank(node_, &rank);
    MPI_Comm_size(node_, &ranks);
    int together = rank_ > 1 || (rank == rank_ && ranks > 1) ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &together, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    is_there_ = together != 0;
    void* own = nullptr;
    MPI_Win_allocate_shared(rank == 0 ? sizeof(Lines) : 0, 1, MPI_INFO_NULL, node_, &own, &window_);
    MPI_Aint bytes = 0;
    int unit = 0;
    MPI_Win_shared_query(window_, 0, &bytes, &unit, &lines_);
  }
  ~LineState() {
    MPI_Win_free(&window_);
    MPI_Comm_free(&node_);
  }
  LineState(const LineState&) = delete;
  LineState& operator=(const LineState&) = delete;

  /// Nanoseconds there and back, the least of some rounds; at ranks 0 and 1, which both call it. 0 where they
  /// are not on one node.
  double nanoseconds() {
    constexpr int kTries = 10, kRounds = 100;
    if (!is_there_ || rank_ > 1) return 0;
    double best = 1;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      const double begin = MPI_Wtime();
      for (int round = 0; round < kRounds; ++round) there_and_back();
      best = std::min(best, (MPI_Wtime() - begin) / kRounds);
    }
    return best * 1e9;
  }

 private:
  struct Lines {
    alignas(128) std::atomic<std::uint64_t> there;
    alignas(128) std::atomic<std::uint64_t> back;
    alignas(128) char end[128];
  };

  void there_and_back() {
    ++number_;
    if (rank_ == 0) lines_->there.store(number_, std::memory_order_release);
    const std::atomic<std::uint64_t>& awaited = rank_ == 0 ? lines_->back : lines_->there;
    while (awaited.load(std::memory_order_acquire) != number_) continue;
    if (rank_ == 1) lines_->back.store(number_, std::memory_order_release);
  }

  MPI_Comm node_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  Lines* lines_ = nullptr;
  int rank_ = 0;
  bool is_there_ = false;
  std::uint64_t number_ = 0;
};

}  // namespace bench

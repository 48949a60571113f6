// How much of a nonblocking operation goes on while the caller computes. Overlap starts the operation,
// computes for as long as the operation alone takes (or several times that), looks after it now and then with
// MPI_Test or does not, and waits.
//
//   overlap = 1 - (t_total - t_compute) / t_pure
//
// 1: the computing hid all of it; 0: none, the two times add up; below 0: each held up the other. t_pure is
// the operation begun and awaited at once, t_compute the same computing alone. Data are in use: t_total and
// t_compute have the time of writing and reading them, t_pure has what it is longer by because they were
// moved. All are taken in turn, in every sample, at the rank that took longest, and the medians count. One
// thread; all ranks of `comm` call everything together.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "suite.hpp"

namespace mbl {

class Overlap {
 public:
  static constexpr int kTestsMax = 10;

  struct Part {
    bool computes = true;       // else this rank starts and waits alone
    int tests_max = kTestsMax;  // calls of MPI_Test while it computes
    int times = 1;              // as long as the operation alone takes
  };

  /// `start` gives `*request`, or leaves MPI_REQUEST_NULL there where nothing is left to wait for. `use`,
  /// which outlives this, knows the data. Finds out how long to compute.
  Overlap(MPI_Comm comm, std::function<void()> start, MPI_Request* request, Use& use, Part part);
  Overlap(MPI_Comm comm, std::function<void()> start, MPI_Request* request, Use& use)
      : Overlap(comm, std::move(start), request, use, Part()) {}

  void run(int rounds);
  /// After each run(), untimed: the operation alone, and the computing alone.
  void settle();
  /// "overlap", "pure_seconds", "compute_seconds", "total_seconds".
  Notes notes() const;

 private:
  /// Of one of `rounds` rounds, at the slowest rank.
  double seconds_of(int rounds, const std::function<void()>& round) const;
  /// The least of several batches, when all is warm.
  double least_seconds_of(const std::function<void()>& round) const;
  double slowest(double seconds) const;
  void compute(std::int64_t steps);
  void compute_alone();
  void operate_alone();
  void use_alone();

  MPI_Comm comm_;
  std::function<void()> start_;
  MPI_Request* request_;
  Use& use_;
  Part part_;
  int parts_ = 1;                // of the computing, an MPI_Test after each but where there are none
  std::int64_t part_steps_ = 1;  // of computing, in a part
  int rounds_ = 1;               // of the last run()
  double run_seconds_ = 0;       // of one of them
  std::vector<double> totals_, pures_, computes_, uses_;
  volatile double sink_ = 1;  // what was computed: no compiler may leave it out
};

}  // namespace mbl

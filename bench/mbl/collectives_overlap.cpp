// Computing beside a nonblocking operation, and how much that hides.
#include "collectives_overlap.hpp"

#include <algorithm>
#include <utility>

namespace mbl {
namespace {

constexpr int kBatches = 5;
constexpr double kBatchSeconds = 1e-3;
constexpr int kRoundsMax = 1000;
constexpr int kTestsMax = 10;
constexpr double kPartSeconds = 1e-6;  // no test more often than this

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Overlap::Overlap(MPI_Comm comm, std::function<void()> start, MPI_Request* request)
    : comm_(comm), start_(std::move(start)), request_(request) {
  pure_seconds_ = seconds_of([this] { operate_alone(); });
  constexpr std::int64_t kTrialSteps = 1000;
  const double step_seconds = seconds_of([this] { compute(kTrialSteps); }) / kTrialSteps;
  tests_ = std::clamp(static_cast<int>(pure_seconds_ / kPartSeconds), 1, kTestsMax);
  part_steps_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(pure_seconds_ / tests_ / step_seconds));
  compute_seconds_ = seconds_of([this] {
    for (int i = 0; i < tests_; ++i) compute(part_steps_);
  });
}

double Overlap::slowest(double seconds) const {
  double most = 0;
  MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, comm_);
  return most;
}

double Overlap::seconds_of(const std::function<void()>& round) const {
  const auto batch = [&](int rounds) {
    MPI_Barrier(comm_);
    const double begin = MPI_Wtime();
    for (int i = 0; i < rounds; ++i) round();
    return slowest((MPI_Wtime() - begin) / rounds);
  };
  batch(2);  // warms up
  const int rounds = std::clamp(static_cast<int>(kBatchSeconds / (batch(2) + 1e-9)), 1, kRoundsMax);
  std::vector<double> seconds;
  for (int i = 0; i < kBatches; ++i) seconds.push_back(batch(rounds));
  return median_of(seconds);
}

void Overlap::operate_alone() {
  start_();
  MPI_Wait(request_, MPI_STATUS_IGNORE);
}

/// Each step waits for the one before.
void Overlap::compute(std::int64_t steps) {
  double value = sink_;
  for (std::int64_t i = 0; i < steps; ++i) value = value * 0.999999 + 1e-6;
  sink_ = value;
}

void Overlap::run(int rounds) {
  const double begin = MPI_Wtime();
  for (int round = 0; round < rounds; ++round) {
    start_();
    for (int i = 0; i < tests_; ++i) {
      compute(part_steps_);
      int done = 0;
      MPI_Test(request_, &done, MPI_STATUS_IGNORE);
    }
    MPI_Wait(request_, MPI_STATUS_IGNORE);
  }
  run_seconds_ = (MPI_Wtime() - begin) / rounds;
}

void Overlap::settle() {
  totals_.push_back(slowest(run_seconds_));
}

Notes Overlap::notes() const {
  const double total = median_of(totals_);
  return {{"overlap", 1 - (total - compute_seconds_) / pure_seconds_},
          {"pure_seconds", pure_seconds_},
          {"compute_seconds", compute_seconds_},
          {"total_seconds", total}};
}

}  // namespace mbl

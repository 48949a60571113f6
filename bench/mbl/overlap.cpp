// Computing beside a nonblocking operation, and how much that hides.
#include "overlap.hpp"

#include <algorithm>
#include <utility>

namespace mbl {
namespace {

constexpr int kBatches = 5;
constexpr double kBatchSeconds = 500e-6;
constexpr int kRoundsMax = 4096;
constexpr double kTickSeconds = 1e-9;  // what is shorter was not measured
constexpr double kPartSeconds = 1e-6;  // no test more often than this

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Overlap::Overlap(MPI_Comm comm, std::function<void()> start, MPI_Request* request, Use& use, Part part)
    : comm_(comm), start_(std::move(start)), request_(request), use_(use), part_(part) {
  use_.turn(true);
  const double pure_seconds = least_seconds_of([this] { operate_alone(); });
  constexpr std::int64_t kTrialSteps = 1000;
  const double step_seconds = least_seconds_of([this] { compute(kTrialSteps); }) / kTrialSteps;
  parts_ = std::clamp(static_cast<int>(pure_seconds / kPartSeconds), 1, std::max(1, part_.tests_max));
  part_steps_ = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(part_.times * pure_seconds / parts_ / step_seconds));
  use_.turn(false);
}

double Overlap::slowest(double seconds) const {
  double most = 0;
  MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, comm_);
  return most;
}

double Overlap::seconds_of(int rounds, const std::function<void()>& round) const {
  MPI_Barrier(comm_);
  const double begin = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) round();
  return slowest((MPI_Wtime() - begin) / rounds);
}

double Overlap::least_seconds_of(const std::function<void()>& round) const {
  // Doubling the rounds until a batch is long enough warms up, too.
  int rounds = 1;
  double least = seconds_of(rounds, round);
  while (least * rounds < kBatchSeconds && rounds < kRoundsMax) {
    rounds *= 2;
    least = seconds_of(rounds, round);
  }
  for (int i = 1; i < kBatches; ++i) least = std::min(least, seconds_of(rounds, round));
  return least;
}

void Overlap::operate_alone() {
  use_.write();
  start_();
  MPI_Wait(request_, MPI_STATUS_IGNORE);
  use_.read();
}

void Overlap::compute_alone() {
  use_.write();
  for (int i = 0; part_.computes && i < parts_; ++i) compute(part_steps_);
  use_.read();
}

void Overlap::use_alone() {
  use_.write();
  use_.read();
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
    use_.write();
    start_();
    for (int i = 0; part_.computes && i < parts_; ++i) {
      compute(part_steps_);
      int done = 0;
      if (part_.tests_max > 0) MPI_Test(request_, &done, MPI_STATUS_IGNORE);
    }
    MPI_Wait(request_, MPI_STATUS_IGNORE);
    use_.read();
  }
  run_seconds_ = (MPI_Wtime() - begin) / rounds;
  rounds_ = rounds;
}

void Overlap::settle() {
  totals_.push_back(slowest(run_seconds_));
  pures_.push_back(seconds_of(rounds_, [this] { operate_alone(); }));
  computes_.push_back(seconds_of(rounds_, [this] { compute_alone(); }));
  uses_.push_back(seconds_of(rounds_, [this] { use_alone(); }));
}

Notes Overlap::notes() const {
  const double total = median_of(totals_), compute = median_of(computes_);
  const double pure = std::max(median_of(pures_) - median_of(uses_), kTickSeconds);
  return {{"overlap", 1 - (total - compute) / pure},
          {"pure_seconds", pure},
          {"compute_seconds", compute},
          {"total_seconds", total}};
}

}  // namespace mbl

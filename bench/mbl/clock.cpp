// One time for all ranks (see clock.hpp).
#include "clock.hpp"

#include <ctime>

#include <algorithm>
#include <cmath>

#include "suite.hpp"

namespace mbl {

namespace {

constexpr int kQuestionsFirst = 100;      // to find an offset
constexpr int kQuestionsAgain = 10;       // to check it
constexpr double kDriftSecondsMin = 0.5;  // a drift is told from looks at least this far apart
constexpr double kDriftMax = 1e-3;        // no clock is worse; what seems so was a disturbed look

}  // namespace

double monotonic_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Clock::Look Clock::look(MPI_Comm comm, int questions) {
  int rank = 0, size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  Look best;
  best.round_trip = 1e30;
  double answer = 0;
  if (rank == 0) {
    for (int other = 1; other < size; ++other) {
      for (int i = 0; i < questions; ++i) {
        require(MPI_Recv(nullptr, 0, MPI_BYTE, other, 0, comm, MPI_STATUS_IGNORE), "MPI_Recv");
        answer = read_();
        require(MPI_Send(&answer, 1, MPI_DOUBLE, other, 0, comm), "MPI_Send");
      }
    }
    return {read_(), 0, 0};
  }
  for (int i = 0; i < questions; ++i) {
    const double begin = read_();
    require(MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, comm), "MPI_Send");
    require(MPI_Recv(&answer, 1, MPI_DOUBLE, 0, 0, comm, MPI_STATUS_IGNORE), "MPI_Recv");
    const double end = read_();
    // The first question waits for rank 0's turn; its round trip is long, and it loses.
    if (end - begin < best.round_trip) best = {end, answer - (begin + end) / 2, end - begin};
  }
  return best;
}

void Clock::synchronise(MPI_Comm comm) {
  const Look found = look(comm, kQuestionsFirst);
  const bool same = std::abs(found.offset) <= found.round_trip / 2;
  offset_ = same ? 0 : found.offset;
  drift_ = 0;
  looked_ = found.local;
}

double Clock::check(MPI_Comm comm, double limit_seconds) {
  Look found = look(comm, kQuestionsAgain);
  double error = worst_error(comm, found);
  if (error <= limit_seconds) return error;
  // Perhaps only the look was disturbed.
  found = look(comm, kQuestionsFirst);
  error = worst_error(comm, found);
  if (own_error(found) <= std::max(limit_seconds, found.round_trip / 2)) return error;
  const double elapsed = found.local - looked_;
  const double drift = elapsed >= kDriftSecondsMin ? (found.offset - offset_) / elapsed : 0;
  drift_ = std::abs(drift) <= kDriftMax ? drift : 0;
  offset_ = found.offset;
  looked_ = found.local;
  return error;
}

double Clock::own_error(const Look& found) const {
  return std::abs(found.offset - (at(found.local) - found.local));
}

double Clock::worst_error(MPI_Comm comm, const Look& found) const {
  double error = own_error(found);
  require(MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, comm), "MPI_Allreduce");
  return error;
}

}  // namespace mbl

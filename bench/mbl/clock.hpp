// One time for all ranks: each process's monotonic clock, and how far it is from that of rank 0.
//
// A rank asks rank 0 for its time again and again and keeps the answer with the shortest round trip, in the
// middle of which rank 0 is taken to have looked; so what is found is wrong by half that trip at most. The
// ranks do this one after the other: it takes time in proportion to their number. Where zero is as good an
// answer, as among processes of one machine, the clocks are taken for the same. Between two looks a clock's
// drift is corrected in a straight line.
//
// Owned by one thread. All calls but now() are collective over the communicator given, whose rank 0 is always
// the same process.
#pragma once

#include <mpi.h>

namespace mbl {

/// Seconds of this process's monotonic clock, whose begin is anywhere.
double monotonic_seconds();

class Clock {
 public:
  using Read = double (*)();
  explicit Clock(Read read = monotonic_seconds) : read_(read) {}

  /// Finds all offsets anew.
  void synchronise(MPI_Comm comm);

  /// Looks again. Returns, at all ranks, how far the worst clock was from what it was taken for, in seconds;
  /// if that is more than `limit_seconds` (and than what the look itself can tell), offset and drift are
  /// corrected.
  double check(MPI_Comm comm, double limit_seconds);

  /// Rank 0's time.
  double now() const { return at(read_()); }

  /// What is added to this process's clock, as of the last correction, and what that changes in a second.
  double offset() const { return offset_; }
  double drift() const { return drift_; }

 private:
  struct Look {
    double local = 0;       // when, by the own clock
    double offset = 0;      // rank 0's time minus the own
    double round_trip = 0;  // of the question that told it
  };

  Look look(MPI_Comm comm, int questions);
  double own_error(const Look& found) const;
  double worst_error(MPI_Comm comm, const Look& found) const;
  double at(double local) const { return local + offset_ + drift_ * (local - looked_); }

  Read read_;
  double offset_ = 0;  // rank 0's time minus the own, at the own time looked_
  double drift_ = 0;   // what offset_ changes in a second
  double looked_ = 0;
};

}  // namespace mbl

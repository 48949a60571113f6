// How long a cache line takes from one rank to another of its machine and back, without MPI: the state of the
// machine. The host of a virtual machine may move its processors to others, which share no cache; then every
// time is another. One thread; all calls are collective over the communicator.
#pragma once

#include <mpi.h>

#include <memory>

struct SharedPair;

namespace mbl {

class LineState {
 public:
  /// Between the first two ranks of `comm` that share a machine.
  explicit LineState(MPI_Comm comm);
  LineState(const LineState&) = delete;
  LineState& operator=(const LineState&) = delete;
  ~LineState();

  /// Seconds there and back, the least of some, at rank 0; 0 at the others, and where no two share a machine.
  double seconds();

 private:
  MPI_Comm comm_;
  int first_ = 0;                     // the first of the two; the number of ranks: there are none
  std::unique_ptr<SharedPair> pair_;  // at the two
};

}  // namespace mbl

// How a pattern is timed: data looked at, warm-up, samples with a common begin until the median is known well
// enough, data looked at again. Rank 0 decides everything and tells the others.
//
// A sample is `rounds` rounds back to back. All ranks prepare, and meet; rank 0 names a time a little ahead,
// and everybody begins by the clock. A rank that begins too late says so, and the sample is taken again. One
// thread.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "clock.hpp"
#include "line_state.hpp"
#include "suite.hpp"

namespace mbl {

struct Limits {
  double budget_seconds = 0.1;  // for the samples of a case
  double width = 0.05;          // of the median's interval, as part of the median, at which a case is settled
  bool cold = false;            // take the caches' content away before each sample, which is then one round
};

enum class Checked { kNothing, kRight, kWrong, kLacking };

/// What rank 0 knows of a case when it has been measured; the other ranks know `checked` alone.
struct Measurement {
  std::vector<double> seconds;  // of one operation
  int rounds = 1;
  bool settled = false;
  Checked checked = Checked::kNothing;
  std::string why;  // what is wrong, or unsupported: of the first rank that says something
  int late = 0;     // samples that were taken again
  double clock_error_seconds = 0;
  std::vector<double> line_seconds;  // a cache line there and back, before and after; or empty (LineState)
  Notes notes;
};

/// A communicator to measure on, and one for the measuring itself, of the same processes.
struct Place {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm control = MPI_COMM_NULL;
  int rank = 0, size = 1;
  bool crowded = false;  // more ranks than processors on some machine: a rank that waits has to give way
  Clock* clock = nullptr;
  std::shared_ptr<LineState> lines;  // null where ranks share processors: they are not there at the same time
};

/// Measures one case. Collective over the place.
Measurement measure(const Benchmark& benchmark, const Setting& setting, const Place& place,
                    const Limits& limits);

/// Whether some machine has more of `comm`'s ranks than processors. Collective.
bool is_crowded(MPI_Comm comm);

}  // namespace mbl

// The exceptions of the program, each a line for the user. main() prints it and ends the job with status 1.
#pragma once

#include <stdexcept>

namespace spam {

/// Thrown on every rank alike: where all of them find it (input, mapping), or after they agreed (agree.hpp).
/// Rank 0 tells it.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Met by one rank, in the middle of a step: that rank tells it and aborts the job.
class RankError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace spam

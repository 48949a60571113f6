// Where the standard output and error of a rank go when not to mpiexec's own.
#pragma once

#include <string>

#include "launch/options/options.hpp"

namespace tasuki::launch {

/// The paths for the rank of that name; empty: through mpiexec.
struct RankPaths {
  std::string output;
  std::string error;
};

RankPaths paths_of_rank(const Options& options, const std::string& rank);

/// Makes the file, and the directories above it, anew. Returns its descriptor (close-on-exec), or -1 with
/// errno.
int create_file(const std::string& path);

}  // namespace tasuki::launch

// Settings that must be the same for all ranks: each rank gives its own to the others by the Directory at
// MPI_Init, and the job ends with a sentence where two differ, rather than to hang in some collective later.
//
// Pure, but for the two functions that move text by a Directory.
#pragma once

#include <string>

#include "base/variables/config.hpp"
#include "job/directory.hpp"

namespace tasuki {

/// What of `config` must be the same for all ranks and is not as it is by itself: "NAME=value" in lines, in
/// the order of the table; where that is too long for a value of a Directory, a number that stands for it.
std::string agreed_settings(const Config& config);

/// How those of `rank` differ from those of rank 0, in a sentence; empty: they do not.
std::string difference_of_settings(int rank, const std::string& its, const std::string& of_first);

/// Puts this rank's, for the fence that follows. Returns false and one line in `error` when that cannot be.
bool put_settings(Directory& directory, const Config& config, std::string* error);

/// Once that fence is over: whether this rank's are those of rank 0; if not, the sentence in `error`.
bool settings_agree(const Directory& directory, const Config& config, std::string* error);

}  // namespace tasuki

// What ranks that have ended mean for their job, read from their job segments. Sends no signal and waits for
// nothing.
#pragma once

#include <optional>
#include <vector>

#include "launch/ending/rank_end.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

/// How that rank ended. REQUIRES: it has.
RankEnd end_of(const WorldRank& ended);

struct Judgement {
  std::optional<WorldRank> cause;  // the rank whose end ends the job; none: the job goes on
  int status = 0;                  // of a rank that returned another status than 0 after MPI_Finalize
};

/// Judges ranks that were found to have ended at the same time. Of several that failed the cause is the one
/// that called MPI_Abort, else one that a signal killed, else the first. Those that never initialised MPI are
/// marked as absent, so that no rank waits for them.
Judgement judge_ended(const Worlds& worlds, const std::vector<WorldRank>& ended);

}  // namespace tasuki::launch

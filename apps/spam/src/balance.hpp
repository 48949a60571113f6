// A row of columns is cut into pieces of neighbouring ones, such that the costliest piece is as cheap as can
// be. The mapping "balanced" deals columns to ranks so, and a domain its columns to threads.
#pragma once

#include <span>

namespace spam {

/// `cost_before[i]`: the sum of what the first i columns cost; one number more than there are columns,
/// ascending. Piece k gets the columns from the end of piece k - 1 (0 for the first) to ends[k]. No piece is
/// empty where there are columns enough; else the last ones are. Among the best cuts those are taken
/// whose pieces share the rest of the columns evenly. REQUIRES: at least one piece.
void balanced_cuts(std::span<const double> cost_before, std::span<int> ends);

}  // namespace spam

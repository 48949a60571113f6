// Particles change their cells, and cells their ranks.
#pragma once

#include <mpi.h>

#include "domain.hpp"

namespace spam {

/// After a step: particles in columns of other ranks go there. They have moved less than a column's width, so
/// only ranks whose columns border on ours are partners: one message to each, also where nothing goes.
/// Throws RankError if a particle went farther, or is not finite (naming it, its place and the step).
void exchange_particles(MPI_Comm comm, Domain* domain, bool periodic_x, std::int64_t step);

/// New owners for all columns: particles go wherever they belong (one MPI_Alltoallv).
void remap(MPI_Comm comm, Domain* domain, Owners owners);

/// Collective. What columns may be expected to cost before any force was computed, by column of space: their
/// particles times those of themselves and the next columns.
std::vector<double> expected_costs(MPI_Comm comm, const Domain& domain);

/// The ranks other than ours whose columns border on ours, ascending.
std::vector<int> bordering_ranks(const Domain& domain, bool periodic_x);

}  // namespace spam

// The state at time 0. A particle's state is a function of the settings and its id alone, so every rank makes
// the ones that lie in its columns, and the number of ranks does not matter.
//
// Particle k of N lies at x = F((k + 1/2) / N), F being the inverse of the profile's cumulated density, and
// at y = height * fraction(k * golden ratio): an even spread at any density. Fluctuations are added from a
// counter- based random number of (seed, id).
#pragma once

#include "domain.hpp"
#include "settings.hpp"

namespace spam {

/// Fills domain.particles with those whose place lies in columns of this rank, unsorted.
void make_initial_state(const Settings& settings, Domain* domain);

/// Brings a particle back into space: over a periodic edge, or mirrored at a mirror. What left through an
/// open end stays outside.
void fold_into_space(const Space& space, double* x, double* y, double* vx, double* vy);

}  // namespace spam

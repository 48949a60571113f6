// What the equations conserve, and the check that they do.
//
// Energy (kinetic + potential + heat) changes only by the error of the integration. Momentum in a direction
// without mirrors changes only by rounding. Particles are neither made nor lost.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "domain.hpp"
#include "force.hpp"
#include "settings.hpp"

namespace spam {

struct Totals {
  std::int64_t particles = 0;
  double kinetic = 0, potential = 0, heat = 0;
  double momentum_x = 0, momentum_y = 0;
  double momentum_scale = 0;  // sum of m |v|

  double energy() const { return kinetic + potential + heat; }
};

/// Collective: over all ranks. `forces.density` is that of the domain's state, from which the potential
/// energy follows: (beta / 60) / 2 * sum of m (density - m w(0)).
Totals sum_totals(MPI_Comm comm, const Domain& domain, const Forces& forces, const Material& material);

/// Empty, or what is not conserved, by how much, and the bound: the same on all ranks.
std::string compare_totals(const Totals& first, const Totals& now, const Settings& settings,
                           std::int64_t step);

}  // namespace spam

// Sums over all particles that do not depend on the number of ranks but for the last bit, and their
// comparison.
#include "totals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "lucy.hpp"

namespace spam {
namespace {

/// A sum and what rounding took from it (Neumaier 1974), so that it hardly depends on the order of what is
/// added.
struct Sum {
  double sum = 0, rest = 0;

  void add(double value) {
    const double larger = sum + value;
    rest += std::abs(sum) >= std::abs(value) ? (sum - larger) + value : (value - larger) + sum;
    sum = larger;
  }
  double value() const { return sum + rest; }
};

enum Quantity { kSquares, kDensity, kHeat, kVx, kVy, kSpeed, kQuantities };
using Sums = std::array<Sum, kQuantities>;

Sums sum_own(const Domain& domain, const Forces& forces) {
  const Particles& particles = domain.particles;
  Sums sums;
  for (std::size_t i = 0; i < particles.id.size(); ++i) {
    const double vx = particles.vx[i], vy = particles.vy[i], squares = vx * vx + vy * vy;
    sums[kSquares].add(squares);
    sums[kDensity].add(forces.density[i]);
    sums[kHeat].add(particles.heat[i]);
    sums[kVx].add(vx);
    sums[kVy].add(vy);
    sums[kSpeed].add(std::sqrt(squares));
  }
  return sums;
}

/// What differs by more than it may, or nothing.
std::string compare(const char* what, double first, double now, double scale, double tolerance,
                    const char* key, const char* remedy, const Settings& settings, std::int64_t step) {
  const double change = std::abs(now - first);
  if (change <= tolerance * scale) return {};
  return fmt::format(
      "{}: {} changed from {} to {} by step {}, by {:.3g} of {}; {} = {} was expected to "
      "suffice: {}",
      settings.file, what, first, now, step, change / scale, scale, key, tolerance, remedy);
}

bool has_mirror(const Edges& edges) {
  return edges.low == Boundary::kMirror || edges.high == Boundary::kMirror;
}

}  // namespace

Totals sum_totals(MPI_Comm comm, const Domain& domain, const Forces& forces, const Material& material) {
  struct Part {
    Sums sums;
    std::int64_t particles;
  };
  const Part own{sum_own(domain, forces), domain.particles.size()};
  // All add all ranks' parts in the same order: no reduction's order plays a part.
  std::vector<Part> parts(static_cast<std::size_t>(domain.ranks()));
  MPI_Allgather(&own, static_cast<int>(sizeof own), MPI_BYTE, parts.data(), static_cast<int>(sizeof own),
                MPI_BYTE, comm);
  Totals totals;
  Sums all;
  for (const Part& part : parts) {
    totals.particles += part.particles;
    for (std::size_t k = 0; k < kQuantities; ++k) {
      all[k].add(part.sums[k].sum);
      all[k].add(part.sums[k].rest);
    }
  }
  const double mass = material.mass, self = mass * Lucy(material.range).weight(0);
  totals.kinetic = mass / 2 * all[kSquares].value();
  all[kDensity].add(-self * static_cast<double>(totals.particles));
  totals.potential = material.beta / 60 / 2 * mass * all[kDensity].value();
  totals.heat = all[kHeat].value();
  totals.momentum_x = mass * all[kVx].value();
  totals.momentum_y = mass * all[kVy].value();
  totals.momentum_scale = mass * all[kSpeed].value();
  return totals;
}

std::string compare_totals(const Totals& first, const Totals& now, const Settings& settings,
                           std::int64_t step) {
  if (now.particles != first.particles)
    return fmt::format("{}: {} particles in step {}, and {} in the beginning: an error of the program",
                       settings.file, now.particles, step, first.particles);
  if (!std::isfinite(now.energy()))
    return fmt::format(
        "{}: the energy is {} in step {}, no finite number: smaller velocities, material.beta or "
        "integration.time_step are needed",
        settings.file, now.energy(), step);
  const Output& output = settings.output;
  const double scale = std::max(first.momentum_scale, now.momentum_scale);
  std::string broken =
      compare("the energy", first.energy(), now.energy(), std::abs(first.energy()), output.energy_tolerance,
              "output.energy_tolerance", "a smaller integration.time_step is needed", settings, step);
  if (broken.empty() && !has_mirror(settings.space.x))
    broken = compare("the momentum in x", first.momentum_x, now.momentum_x, scale, output.momentum_tolerance,
                     "output.momentum_tolerance", "no wall changes it", settings, step);
  if (broken.empty() && !has_mirror(settings.space.y))
    broken = compare("the momentum in y", first.momentum_y, now.momentum_y, scale, output.momentum_tolerance,
                     "output.momentum_tolerance", "no wall changes it", settings, step);
  return broken;
}

}  // namespace spam

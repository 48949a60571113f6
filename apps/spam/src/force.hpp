// Forces between all pairs within the range. Two engines do it: the paper's, which makes a list of pairs and
// works it off (force_list.cpp), and ours, which goes through blocks of cells (force_blocked.cpp).
//
// inner() needs nothing of other ranks and may be called while their columns are on their way; border() adds
// what the ghosts do. A pair of two particles of this rank is computed once; a pair with a ghost, or with the
// image behind a mirror, is computed by each rank for its own particle. Images need no ghosts: the engines
// mirror, and shift by a period, themselves.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "domain.hpp"
#include "halo.hpp"
#include "phases.hpp"
#include "settings.hpp"

namespace spam {

/// By particle of the domain, in its order.
struct Forces {
  Array<double> fx, fy;
  Array<double> heating;  // energy per time that its friction makes; empty without viscosity
  Array<double> density;  // sum of m w over all partners, itself and images among them; only where asked for
};

/// What a column's loops took, counted: the measure of load that does not depend on the clock.
struct ColumnCounts {
  double pairs = 0;       // computed, being in range
  double candidates = 0;  // looked at
  double runs = 0;        // of candidates, one behind the other in memory; where the engine has such
};

/// In candidates. A pair in range costs about as much again as one that is only looked at, and to begin and
/// end a run takes as long as 40 of them (fitted to the halves of the paper's gas, twice as dense one as the
/// other).
inline double column_cost(const ColumnCounts& counts) {
  return 1 + counts.candidates + counts.pairs + 40 * counts.runs;
}

class ForceEngine {
 public:
  virtual ~ForceEngine() = default;

  /// Once a step, after Domain::sort() and Halo::plan().
  virtual void prepare(const Domain& domain, const Halo& halo) = 0;
  /// Once a step, after Halo::finish(0), which is when the ghosts' cells are known. The list engine makes its
  /// list here: sorting, as the paper counts.
  virtual void prepare_border(const Domain&, const Halo&) {}

  /// `poll` is called by the calling thread now and then. `density`: fill Forces::density, too.
  virtual void inner(const Domain& domain, const StageState& state, bool density, Forces* forces,
                     const std::function<void()>& poll) = 0;
  virtual void border(const Domain& domain, const StageState& state, const Halo& halo, bool density,
                      Forces* forces) = 0;

  /// Since the last reset_counts(), by owned column (Domain::columns()).
  virtual std::span<const ColumnCounts> counts() const = 0;
  virtual void reset_counts(const Domain& domain) = 0;
  /// Pairs computed by each thread since the start, for the table of thread schedules.
  virtual std::vector<double> pairs_by_thread() const = 0;
};

/// The reach (grid.hpp) of the blocked engine's rows; the list engine's is 1.
inline constexpr int kBlockedReach = 4;

/// The cells that the settings' engine works with.
inline Grid grid_of(const Settings& settings) {
  return Grid(settings.space, settings.parallel.engine == Engine::kList ? 1 : kBlockedReach);
}

std::unique_ptr<ForceEngine> make_blocked_engine(const Settings& settings);
std::unique_ptr<ForceEngine> make_list_engine(const Settings& settings);
/// The one that the settings name. REQUIRES: settings.parallel.threads > 0, as run() is given them.
std::unique_ptr<ForceEngine> make_engine(const Settings& settings);

}  // namespace spam

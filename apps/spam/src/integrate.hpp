// The classic Runge-Kutta method of fourth order for dx/dt = v, dv/dt = f / m, d(heat)/dt = heating.
//
//   k1 = g(s), k2 = g(s + dt/2 k1), k3 = g(s + dt/2 k2), k4 = g(s + dt k3), s += dt/6 (k1 + 2 k2 + 2 k3 + k4)
#pragma once

#include "domain.hpp"
#include "force.hpp"
#include "halo.hpp"

namespace spam {

class Integrator {
 public:
  Integrator(double time_step, double mass) : time_step_(time_step), mass_(mass) {}

  /// Stage 0: the domain's particles as they are.
  void begin_step(const Domain& domain, const StageState& first);

  /// After the forces of a stage 0 … 2: adds up the rates, and writes where stage + 1 is looked at.
  void next_stage(const Domain& domain, int stage, const Forces& forces, const StageState& now,
                  const StageState& next);

  /// After those of stage 3: the new state, folded into space. Returns the greatest distance that a particle
  /// of this rank has moved in x or y; infinity if a number is not finite.
  double end_step(const Forces& forces, const StageState& now, const Space& space, Domain* domain);

 private:
  double time_step_, mass_;
  Array<double> sum_vx_, sum_vy_, sum_ax_, sum_ay_, sum_heating_;  // k1 + 2 k2 + 2 k3; a: the forces
};

}  // namespace spam

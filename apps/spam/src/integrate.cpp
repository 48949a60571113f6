// The stages of Runge-Kutta, block by block, in the thread that has the particles.
#include "integrate.hpp"

#include <omp.h>

#include <algorithm>
#include <limits>

#include "initial.hpp"
#include "vectorise.hpp"

namespace spam {
namespace {

constexpr int kBlock = 512;  // particles whose arrays fit into a core's nearest cache

/// Adds a stage's rates to their sum, or begins it with them.
template <bool begins>
SPAM_VECTORISED void add_rates(int count, double weight, const double* rate, double* sum) {
#pragma omp simd
  for (int i = 0; i < count; ++i) sum[i] = begins ? weight * rate[i] : sum[i] + weight * rate[i];
}

/// Where the step's begin leads to in a time.
SPAM_VECTORISED void look_ahead(int count, double time, const double* begun, const double* rate,
                                double* next) {
#pragma omp simd
  for (int i = 0; i < count; ++i) next[i] = begun[i] + time * rate[i];
}

/// Adds the last stage's rates, and goes the step. Returns the greatest change.
SPAM_VECTORISED double take_step(int count, double time, const double* sum, const double* rate,
                                 double* value) {
  double most = 0, poison = 0;
#pragma omp simd reduction(max : most) reduction(+ : poison)
  for (int i = 0; i < count; ++i) {
    const double change = time * (sum[i] + rate[i]);
    value[i] += change;
    const double size = change < 0 ? -change : change;
    most = size > most ? size : most;
    poison += change - change;  // no number where there was none, which a maximum would pass over
  }
  return poison == 0 ? most : std::numeric_limits<double>::infinity();
}

SPAM_VECTORISED bool all_inside(int count, double end, const double* place) {
  int outside = 0;
#pragma omp simd reduction(+ : outside)
  for (int i = 0; i < count; ++i) outside += !(place[i] >= 0 && place[i] < end);
  return outside == 0;
}

/// Particles [at, at + count) that left space come back.
void fold(const Space& space, int at, int count, Particles* particles) {
  double *x = particles->x.data() + at, *y = particles->y.data() + at;
  if (all_inside(count, space.width, x) && all_inside(count, space.height, y)) return;
  double *vx = particles->vx.data() + at, *vy = particles->vy.data() + at;
  for (int i = 0; i < count; ++i) fold_into_space(space, x + i, y + i, vx + i, vy + i);
}

/// Calls work(at, count) for blocks of all particles, each block in the thread that has its particles.
template <class Work>
void for_blocks(const Domain& domain, const Work& work) {
  const int threads = domain.threads();
#pragma omp parallel num_threads(threads)
  for (int t = omp_get_thread_num(); t < threads; t += omp_get_num_threads()) {
    const auto [begin, end] = domain.thread_particles(t);
    for (int at = begin; at < end; at += kBlock) work(at, std::min(kBlock, end - at), t);
  }
}

}  // namespace

void Integrator::begin_step(const Domain& domain, const StageState& first) {
  const Particles& begun = domain.particles;
  for (Array<double>* sum : {&sum_vx_, &sum_vy_, &sum_ax_, &sum_ay_}) sum->resize(begun.x.size());
  for_blocks(domain, [&](int at, int count, int) {
    std::copy_n(begun.x.data() + at, count, first.x + at);
    std::copy_n(begun.y.data() + at, count, first.y + at);
    std::copy_n(begun.vx.data() + at, count, first.vx + at);
    std::copy_n(begun.vy.data() + at, count, first.vy + at);
  });
}

void Integrator::next_stage(const Domain& domain, int stage, const Forces& forces, const StageState& now,
                            const StageState& next) {
  const Particles& begun = domain.particles;
  const bool begins = stage == 0, has_heat = !forces.heating.empty();
  const double weight = begins ? 1 : 2;
  const auto add = begins ? add_rates<true> : add_rates<false>;
  const double time = stage == kStages - 2 ? time_step_ : time_step_ / 2;
  if (has_heat) sum_heating_.resize(begun.heat.size());
  for_blocks(domain, [&](int at, int count, int) {
    const auto advance = [&](double mass, const Array<double>& from, const double* rate, Array<double>& sum,
                             double* to) {
      add(count, weight, rate + at, sum.data() + at);
      look_ahead(count, time / mass, from.data() + at, rate + at, to + at);
    };
    advance(1, begun.x, now.vx, sum_vx_, next.x);
    advance(1, begun.y, now.vy, sum_vy_, next.y);
    advance(mass_, begun.vx, forces.fx.data(), sum_ax_, next.vx);
    advance(mass_, begun.vy, forces.fy.data(), sum_ay_, next.vy);
    if (has_heat) add(count, weight, forces.heating.data() + at, sum_heating_.data() + at);
  });
}

double Integrator::end_step(const Forces& forces, const StageState& now, const Space& space, Domain* domain) {
  struct alignas(kLineBytes) Moved {
    double most = 0;
  };
  std::vector<Moved> moved(static_cast<std::size_t>(domain->threads()));
  Particles& state = domain->particles;
  const double sixth = time_step_ / 6;
  for_blocks(*domain, [&](int at, int count, int thread) {
    double& most = moved[static_cast<std::size_t>(thread)].most;
    const auto go = [&](double time, const Array<double>& sum, const double* rate, Array<double>& value) {
      return take_step(count, time, sum.data() + at, rate + at, value.data() + at);
    };
    most = std::max(most, go(sixth, sum_vx_, now.vx, state.x));
    most = std::max(most, go(sixth, sum_vy_, now.vy, state.y));
    go(sixth / mass_, sum_ax_, forces.fx.data(), state.vx);
    go(sixth / mass_, sum_ay_, forces.fy.data(), state.vy);
    if (!forces.heating.empty()) go(sixth, sum_heating_, forces.heating.data(), state.heat);
    fold(space, at, count, &state);
  });
  double most = 0;
  for (const Moved& of_thread : moved) most = std::max(most, of_thread.most);
  return most;
}

}  // namespace spam

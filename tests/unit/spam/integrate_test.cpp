// Runge-Kutta against a motion that is known, with an error of fourth order; walls; and numbers that are
// none.
#include "integrate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace spam {
namespace {

constexpr double kMass = 2;

struct Stages {
  explicit Stages(std::size_t count) {
    for (auto& stage : values) stage.resize(4 * count);
    size = count;
  }
  StageState of(int stage) {
    double* at = values[stage % 2].data();
    return {at, at + size, at + 2 * size, at + 3 * size};
  }
  std::size_t size;
  Array<double> values[2];
};

/// On a spring around (5, 5): circles of the frequency 1. Each particle gains heat at its own x.
void pull(const StageState& state, Forces* forces) {
  for (std::size_t i = 0; i < forces->fx.size(); ++i) {
    forces->fx[i] = -kMass * (state.x[i] - 5);
    forces->fy[i] = -kMass * (state.y[i] - 5);
    forces->heating[i] = state.x[i];
  }
}

Domain circling(int threads, int count) {
  Space space;
  space.width = space.height = 10;
  space.cell_size = 1;
  Domain domain(Grid(space, 1), 0, 1, threads);
  domain.set_owners(Owners(10, 0));
  domain.particles.resize(count);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const double angle = 0.1 * static_cast<double>(i);
    domain.particles.id[i] = static_cast<std::int64_t>(i);
    domain.particles.x[i] = 5 + std::cos(angle);
    domain.particles.y[i] = 5 + std::sin(angle);
    domain.particles.vx[i] = -std::sin(angle);
    domain.particles.vy[i] = std::cos(angle);
    domain.particles.heat[i] = 0;
  }
  return domain;
}

/// Goes `steps` steps; returns the greatest way of one step.
double go(double time_step, int steps, const Space& space, Domain* domain) {
  const auto count = static_cast<std::size_t>(domain->particles.size());
  Stages stages(count);
  Forces forces;
  for (Array<double>* values : {&forces.fx, &forces.fy, &forces.heating}) values->resize(count);
  Integrator integrator(time_step, kMass);
  double moved = 0;
  for (int step = 0; step < steps; ++step) {
    domain->sort(std::vector<double>(10, 1.0));
    integrator.begin_step(*domain, stages.of(0));
    for (int stage = 0; stage + 1 < kStages; ++stage) {
      pull(stages.of(stage), &forces);
      integrator.next_stage(*domain, stage, forces, stages.of(stage), stages.of(stage + 1));
    }
    pull(stages.of(kStages - 1), &forces);
    moved = std::max(moved, integrator.end_step(forces, stages.of(kStages - 1), space, domain));
  }
  return moved;
}

Space wide() {
  Space space;
  space.width = space.height = 10;
  return space;
}

double error_after_one_second(int steps, int threads) {
  Domain domain = circling(threads, 1300);
  EXPECT_NEAR(go(1.0 / steps, steps, wide(), &domain), 1.0 / steps, 0.05 / steps);
  double error = 0;
  for (std::size_t i = 0; i < 1300; ++i) {
    const double begun = 0.1 * static_cast<double>(domain.particles.id[i]), angle = begun + 1;
    error = std::max({error, std::abs(domain.particles.x[i] - 5 - std::cos(angle)),
                      std::abs(domain.particles.y[i] - 5 - std::sin(angle)),
                      std::abs(domain.particles.vx[i] + std::sin(angle)),
                      std::abs(domain.particles.vy[i] - std::cos(angle)),
                      std::abs(domain.particles.heat[i] - 5 - std::sin(angle) + std::sin(begun))});
  }
  return error;
}

TEST(Integrator, IsOfFourthOrder) {
  for (int threads : {1, 3}) {
    const double coarse = error_after_one_second(10, threads), fine = error_after_one_second(20, threads);
    EXPECT_LT(coarse, 1e-5);
    EXPECT_NEAR(coarse / fine, 16, 2);
  }
}

TEST(Integrator, FoldsIntoSpace) {
  Space space = wide();
  space.x = {Boundary::kMirror, Boundary::kMirror};
  space.y = {Boundary::kPeriodic, Boundary::kPeriodic};
  Domain domain = circling(1, 1);
  Particles& one = domain.particles;
  one.x[0] = 9.9, one.y[0] = 9.9, one.vx[0] = 100, one.vy[0] = 100;
  EXPECT_NEAR(go(0.01, 1, space, &domain), 1, 0.01);
  EXPECT_NEAR(one.x[0], 9.1, 0.01);
  EXPECT_NEAR(one.y[0], 0.9, 0.01);
  EXPECT_LT(one.vx[0], -99);
  EXPECT_GT(one.vy[0], 99);
}

TEST(Integrator, TellsOfNumbersThatAreNone) {
  for (double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Domain domain = circling(2, 700);
    domain.particles.vy[650] = bad;
    EXPECT_EQ(go(0.01, 1, wide(), &domain), std::numeric_limits<double>::infinity());
  }
}

}  // namespace
}  // namespace spam

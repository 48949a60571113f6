// The blocked engine gives the forces of the sum over all pairs and images: at every kind of edge, in space
// that is a single column wide or a single row high, however columns are dealt to ranks and threads, by every
// set of instructions that this processor has.
#include <gtest/gtest.h>

#include <cstdlib>

#include "force_kernel.hpp"
#include "oracle.hpp"

namespace spam {
namespace {

constexpr double kClose = 1e-12;
constexpr Edges kOpen{Boundary::kOpen, Boundary::kOpen};
constexpr Edges kRightMirror{Boundary::kOpen, Boundary::kMirror};
constexpr Edges kMirrors{Boundary::kMirror, Boundary::kMirror};
constexpr Edges kPeriodic{Boundary::kPeriodic, Boundary::kPeriodic};

Settings settings_of(double width, double height, Edges x, Edges y, int threads, double viscosity = 0.7) {
  Settings settings;
  settings.space = {width, height, 3.1, x, y};
  settings.material = {1.5, 40, 3.0, viscosity};
  settings.parallel.threads = threads;
  return settings;
}

void expect_close(const Array<double>& found, const Array<double>& right, const char* what) {
  ASSERT_EQ(found.size(), right.size()) << what;
  double scale = 0;
  for (double value : right) scale = std::max(scale, std::abs(value));
  for (std::size_t i = 0; i < right.size(); ++i)
    ASSERT_NEAR(found[i], right[i], kClose * scale) << what << " of particle " << i;
}

void expect_oracle(const Settings& settings, const Particles& all, int ranks, bool in_turn,
                   int reach = kBlockedReach) {
  const Forces right = test::oracle(settings.space, settings.material, all);
  const int columns = Grid(settings.space, reach).columns;
  ranks = std::min(ranks, columns);
  Owners owners;
  for (int c = 0; c < columns; ++c) owners.push_back(in_turn ? c % ranks : c * ranks / columns);
  const test::EngineResult found = test::run_engine(settings, all, reach, owners, ranks, make_blocked_engine);
  expect_close(found.forces.fx, right.fx, "fx");
  expect_close(found.forces.fy, right.fy, "fy");
  expect_close(found.forces.heating, right.heating, "heating");
  expect_close(found.forces.density, right.density, "density");
}

void expect_oracle(const Settings& settings, int count, int ranks, bool in_turn, int reach = kBlockedReach) {
  expect_oracle(settings, test::random_particles(settings.space, count, 7), ranks, in_turn, reach);
}

TEST(ForceBlocked, AgreesWithAllPairsAtEveryEdge) {
  for (const Edges x : {kOpen, kRightMirror, kMirrors, kPeriodic})
    for (const Edges y : {kOpen, kRightMirror, kMirrors, kPeriodic})
      for (const int ranks : {1, 2, 3})
        for (const int threads : {1, 3})
          for (const double viscosity : {0.0, 0.7})
            expect_oracle(settings_of(22, 10, x, y, threads, viscosity), 150, ranks, ranks == 3);
}

TEST(ForceBlocked, AgreesWhereSpaceIsOneOrTwoColumnsWideOrHigh) {
  for (const double width : {3.2, 6.4, 9.6})
    for (const double height : {3.2, 6.4})
      for (const Edges x : {kMirrors, kPeriodic})
        for (const Edges y : {kMirrors, kPeriodic})
          for (const int ranks : {1, 2})
            for (const int threads : {1, 2})
              expect_oracle(settings_of(width, height, x, y, threads), 40, ranks, true);
}

TEST(ForceBlocked, AgreesForAnyHeightOfRows) {
  for (const int reach : {1, 2, 3, 7, 16})
    for (const Edges y : {kOpen, kMirrors, kPeriodic})
      expect_oracle(settings_of(22, 10, kPeriodic, y, 2), 150, 2, false, reach);
}

TEST(ForceBlocked, LeavesEmptyCellsAlone) {
  expect_oracle(settings_of(60, 18, kRightMirror, kPeriodic, 2), 9, 3, false);
  expect_oracle(settings_of(60, 18, kRightMirror, kMirrors, 2), 1, 1, false);
  expect_oracle(settings_of(60, 18, kRightMirror, kPeriodic, 3), 0, 2, true);
  expect_oracle(settings_of(10, 18, kRightMirror, kPeriodic, 9), 60, 1, false);
}

// Particles beyond an open end belong to the last columns and rows, however far they are; two in one place
// push each other nowhere.
TEST(ForceBlocked, KnowsParticlesOutsideOfSpaceAndInOnePlace) {
  const Settings settings = settings_of(22, 10, kOpen, kOpen, 2);
  Particles all = test::random_particles(settings.space, 120, 3);
  for (std::size_t i = 0; i < 30; ++i) all.x[i] = -1 - 0.1 * static_cast<double>(i);
  for (std::size_t i = 20; i < 50; ++i) all.y[i] = 10.5 + 0.1 * static_cast<double>(i);
  for (std::size_t i = 50; i < 60; ++i) all.x[i] = 22 + 3.0 * static_cast<double>(i - 50);
  all.x[99] = -1e9;
  all.y[98] = 1e9;
  all.x[71] = all.x[70];
  all.y[71] = all.y[70];
  expect_oracle(settings, all, 2, false);
}

TEST(ForceBlocked, AgreesWithEveryInstructionSet) {
  for (const char* kernel : {"portable", "avx2"}) {
    setenv("SPAM_KERNEL", kernel, 1);
    ASSERT_NE(choose_kernels(true).name, nullptr);
    for (const Edges y : {kMirrors, kPeriodic})
      for (const double viscosity : {0.0, 0.7})
        expect_oracle(settings_of(22, 10, kRightMirror, y, 2, viscosity), 300, 2, false);
  }
  unsetenv("SPAM_KERNEL");
}

// Momentum stays where nothing is at the edges, to rounding; no sum depends on which thread was first.
TEST(ForceBlocked, ActionIsReactionAndSumsAreTheSameEveryTime) {
  const Settings settings = settings_of(40, 18, kPeriodic, kPeriodic, 4);
  const Particles all = test::random_particles(settings.space, 800, 3);
  const Owners owners(static_cast<std::size_t>(Grid(settings.space, kBlockedReach).columns), 0);
  const auto run = [&] {
    return test::run_engine(settings, all, kBlockedReach, owners, 1, make_blocked_engine);
  };
  const test::EngineResult first = run();
  double fx = 0, fy = 0, size = 0;
  for (std::size_t i = 0; i < 800; ++i) {
    fx += first.forces.fx[i];
    fy += first.forces.fy[i];
    size += std::abs(first.forces.fx[i]);
  }
  EXPECT_GT(size, 100);
  EXPECT_NEAR(fx, 0, 1e-13 * size);
  EXPECT_NEAR(fy, 0, 1e-13 * size);
  for (int again = 0; again < 5; ++again) {
    const test::EngineResult other = run();
    EXPECT_EQ(first.forces.fx, other.forces.fx);
    EXPECT_EQ(first.forces.heating, other.forces.heating);
  }
}

// The force is the slope of the energy, beta / 120 times the sum of m (density - m w(0)).
TEST(ForceBlocked, ForceIsTheSlopeOfTheEnergy) {
  const Settings settings = settings_of(22, 10, kPeriodic, kPeriodic, 2, 0);
  Particles all = test::random_particles(settings.space, 150, 5);
  const Owners owners(static_cast<std::size_t>(Grid(settings.space, kBlockedReach).columns), 0);
  const auto run = [&] {
    return test::run_engine(settings, all, kBlockedReach, owners, 1, make_blocked_engine);
  };
  const auto energy = [&] {
    double sum = 0;
    for (double density : run().forces.density)
      sum += settings.material.mass * (density - settings.material.mass * Lucy(3.0).weight(0));
    return settings.material.beta / 120 * sum;
  };
  const Forces forces = run().forces;
  constexpr double kStep = 1e-5;
  for (const std::size_t i : {0U, 17U, 63U}) {
    const double x = all.x[i];
    all.x[i] = x + kStep;
    const double right = energy();
    all.x[i] = x - kStep;
    const double left = energy();
    all.x[i] = x;
    EXPECT_NEAR(forces.fx[i], (left - right) / (2 * kStep), 1e-6);
  }
}

// A run that looks at densities in other steps moves its particles in the same way.
TEST(ForceBlocked, ForcesDoNotDependOnWhetherDensityIsAskedFor) {
  for (const double viscosity : {0.0, 0.7}) {
    const Settings settings = settings_of(22, 10, kRightMirror, kPeriodic, 2, viscosity);
    const Particles all = test::random_particles(settings.space, 300, 3);
    const Grid grid(settings.space, kBlockedReach);
    Domain domain = test::domain_of(grid, Owners(static_cast<std::size_t>(grid.columns), 0), 0, 1, 2, all);
    Particles& own = domain.particles;
    const StageState state{own.x.data(), own.y.data(), own.vx.data(), own.vy.data()};
    test::FakeHalo halo(grid, all);
    const auto engine = make_blocked_engine(settings);
    engine->reset_counts(domain);
    engine->prepare(domain, halo);
    Forces with, without;
    engine->inner(domain, state, true, &with, [] {});
    engine->inner(domain, state, false, &without, [] {});
    EXPECT_EQ(with.fx, without.fx);
    EXPECT_EQ(with.fy, without.fy);
    EXPECT_EQ(with.heating, without.heating);
  }
}

TEST(ForceBlocked, CountsPairsByColumnAndThread) {
  const Settings settings = settings_of(40, 18, kRightMirror, kPeriodic, 2);
  const Particles all = test::random_particles(settings.space, 800, 3);
  double right = 0;  // pairs in range over the periodic edge, images behind the mirror one by one
  for (std::size_t i = 0; i < 800; ++i)
    for (std::size_t j = 0; j < 800; ++j)
      for (const test::Image& y : test::images_of(settings.space.y, settings.space.height)) {
        const double dy = all.y[i] - y(all.y[j]), image = 2 * settings.space.width - all.x[j];
        if (i < j) right += std::hypot(all.x[i] - all.x[j], dy) < settings.material.range;
        right += std::hypot(all.x[i] - image, dy) < settings.material.range;
      }
  const Grid grid(settings.space, kBlockedReach);
  Domain domain = test::domain_of(grid, Owners(static_cast<std::size_t>(grid.columns), 0), 0, 1, 2, all);
  test::FakeHalo halo(grid, all);
  const auto engine = make_blocked_engine(settings);
  Forces forces;
  StageState state{domain.particles.x.data(), domain.particles.y.data(), domain.particles.vx.data(),
                   domain.particles.vy.data()};
  engine->reset_counts(domain);
  engine->prepare(domain, halo);
  int polls = 0;
  for (int stage = 0; stage < 2; ++stage) engine->inner(domain, state, false, &forces, [&] { ++polls; });
  EXPECT_GT(polls, 1);
  EXPECT_TRUE(forces.density.empty());
  double by_column = 0, by_thread = 0, candidates = 0;
  for (const ColumnCounts& counts : engine->counts()) {
    by_column += counts.pairs;
    candidates += counts.candidates;
  }
  for (double pairs : engine->pairs_by_thread()) {
    EXPECT_GT(pairs, 0.3 * 2 * right);
    by_thread += pairs;
  }
  EXPECT_EQ(by_column, 2 * right);
  EXPECT_EQ(by_thread, 2 * right);
  EXPECT_GT(candidates, by_column);
  EXPECT_LT(candidates, 3 * by_column);
  engine->reset_counts(domain);
  EXPECT_EQ(engine->counts()[0].pairs, 0);
}

}  // namespace
}  // namespace spam

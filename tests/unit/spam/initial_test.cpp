// The state at time 0: spread as the profile says, even from place to place, and the same on any number of
// ranks.
#include "initial.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "force.hpp"

namespace spam {
namespace {

Settings gas(std::int64_t particles) {
  Settings settings;
  settings.space = {.width = 120, .height = 18, .cell_size = 3};
  settings.space.x = {Boundary::kOpen, Boundary::kMirror};
  settings.space.y = {Boundary::kPeriodic, Boundary::kPeriodic};
  settings.initial.particles = particles;
  settings.initial.profile = {{0, 1, 2}, {40, 1, 2}, {80, 3, -1}, {120, 3, -1}};
  return settings;
}

Particles made(const Settings& settings, int rank = 0, int ranks = 1) {
  Domain domain(grid_of(settings), rank, ranks, 1);
  Owners owners;
  for (int column = 0; column < domain.grid().columns; ++column) owners.push_back(column % ranks);
  domain.set_owners(owners);
  make_initial_state(settings, &domain);
  return domain.particles;
}

/// The mass of the profile left of x, of 240.
double mass_below(double x) {
  if (x < 40) return x;
  if (x < 80) return x + (x - 40) * (x - 40) / 40;
  return 120 + 3 * (x - 80);
}

TEST(Initial, ParticlesLieAsTheProfileSays) {
  const Particles particles = made(gas(2400));
  ASSERT_EQ(particles.size(), 2400);
  for (std::size_t i = 0; i < particles.id.size(); ++i) {
    const double x = particles.x[i], share = (static_cast<double>(particles.id[i]) + 0.5) / 2400;
    EXPECT_NEAR(mass_below(x) / 240, share, 1e-12);
    EXPECT_NEAR(particles.vx[i], x < 40 ? 2 : std::max(-1.0, 2 - 3 * (x - 40) / 40), 1e-12);
    EXPECT_EQ(particles.vy[i], 0);
    EXPECT_EQ(particles.heat[i], 0);
  }
}

TEST(Initial, NoPlaceIsEmptyOrCrowded) {
  Settings settings = gas(21600);
  settings.initial.profile = {{0, 5, 0}, {120, 5, 0}};
  const Particles particles = made(settings);
  std::map<std::pair<int, int>, int> boxes;  // of 3 x 3, 90 particles each
  for (std::size_t i = 0; i < particles.id.size(); ++i)
    ++boxes[{static_cast<int>(particles.x[i] / 3), static_cast<int>(particles.y[i] / 3)}];
  ASSERT_EQ(boxes.size(), 240u);
  for (const auto& [box, count] : boxes) EXPECT_NEAR(count, 90, 9) << box.first << ' ' << box.second;
}

TEST(Initial, EachRankMakesItsColumnsAndAllTheSame) {
  Settings settings = gas(1000);
  settings.initial.position_fluctuation = 0.5;
  settings.initial.velocity_fluctuation = 0.1;
  const Particles all = made(settings);
  const Grid grid = grid_of(settings);
  std::size_t found = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const Particles own = made(settings, rank, 3);
    for (std::size_t i = 0; i < own.id.size(); ++i, ++found) {
      const auto k = static_cast<std::size_t>(own.id[i]);
      EXPECT_EQ(grid.column_of(own.x[i]) % 3, rank);
      EXPECT_EQ(own.x[i], all.x[k]);
      EXPECT_EQ(own.y[i], all.y[k]);
      EXPECT_EQ(own.vx[i], all.vx[k]);
      EXPECT_EQ(own.vy[i], all.vy[k]);
    }
  }
  EXPECT_EQ(found, 1000u);
}

TEST(Initial, FluctuationsAreEvenBoundedAndOfTheSeed) {
  Settings settings = gas(4000);
  const Particles still = made(settings);
  settings.initial.velocity_fluctuation = 0.25;
  const Particles moving = made(settings);
  settings.initial.seed = 2;
  const Particles other = made(settings);
  double sum = 0, squares = 0, product = 0;
  for (std::size_t i = 0; i < 4000; ++i) {
    const double vx = moving.vx[i] - still.vx[i], vy = moving.vy[i];
    EXPECT_LE(std::max(std::abs(vx), std::abs(vy)), 0.25 + 1e-12);
    EXPECT_NE(other.vy[i], vy);
    sum += vx + vy;
    squares += vx * vx + vy * vy;
    product += vx * vy;
  }
  const double variance = 0.25 * 0.25 / 3;  // of an even distribution
  EXPECT_NEAR(sum / 8000, 0, 4 * std::sqrt(variance / 8000));
  EXPECT_NEAR(squares / 8000, variance, 0.05 * variance);
  EXPECT_NEAR(product / 4000, 0, 4 * variance / std::sqrt(4000));
}

TEST(Initial, GivenParticlesAreJustThose) {
  Settings settings = gas(2);
  settings.initial.given = {{1, 18, 3, 4}, {5, 6, 7, 8}};  // y = 18 is y = 0
  const Particles particles = made(settings);
  ASSERT_EQ(particles.size(), 2);
  EXPECT_EQ(particles.y[0], 0);
  EXPECT_EQ(particles.x[1], 5);
  EXPECT_EQ(particles.vy[1], 8);
}

TEST(Fold, EdgesAreCrossedAsTheyShouldBe) {
  const Space space = gas(1).space;
  struct Case {
    double x, y, vx, to_x, to_y, to_vx;
  };
  const Case cases[] = {{10, 5, 1, 10, 5, 1},      {-1, 5, -1, -1, 5, -1},     {121, 5, 1, 119, 5, -1},
                        {120, 5, 1, 120, 5, 1},    {10, -0.5, 1, 10, 17.5, 1}, {10, 18, 1, 10, 0, 1},
                        {10, 19.5, 1, 10, 1.5, 1}, {10, -1e-30, 1, 10, 0, 1}};
  for (Case one : cases) {
    double vy = 3;
    fold_into_space(space, &one.x, &one.y, &one.vx, &vy);
    EXPECT_DOUBLE_EQ(one.x, one.to_x);
    EXPECT_DOUBLE_EQ(one.y, one.to_y);
    EXPECT_EQ(one.vx, one.to_vx);
    EXPECT_EQ(vy, 3);
  }
}

TEST(Fold, WhatIsNoNumberStaysNone) {
  double x = std::numeric_limits<double>::quiet_NaN(), y = x, vx = 0, vy = 0;
  fold_into_space(gas(1).space, &x, &y, &vx, &vy);
  EXPECT_TRUE(std::isnan(x) && std::isnan(y));
}

}  // namespace
}  // namespace spam

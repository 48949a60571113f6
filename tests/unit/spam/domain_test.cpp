// A rank's particles are sorted by column and row, each with all that belongs to it, in the order that they
// had, the same for any number of threads; and who borders on whom.
#include "domain.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "exchange.hpp"

namespace spam {
namespace {

constexpr int kParticles = 3000;

Space strip(double width) {
  Space space;
  space.width = width;
  space.height = 9;
  space.cell_size = 1;
  return space;
}

/// In columns of rank 1 of 3, a little outside of space as well.
Domain scattered(const Owners& owners, int threads) {
  Domain domain(Grid(strip(static_cast<double>(owners.size())), 2), 1, 3, threads);
  domain.set_owners(owners);
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> inside(0, 1), across(-1, 10);
  domain.particles.resize(kParticles);
  for (std::size_t i = 0; i < kParticles; ++i) {
    const int column = domain.columns()[random() % domain.columns().size()];
    const bool first = column == 0 && random() % 4 == 0;
    domain.particles.id[i] = static_cast<std::int64_t>(i);
    domain.particles.x[i] = first ? -inside(random) : column + inside(random);
    domain.particles.y[i] = across(random);
    domain.particles.vx[i] = 2.0 * static_cast<double>(i);
    domain.particles.vy[i] = 3.0 * static_cast<double>(i);
    domain.particles.heat[i] = 4.0 * static_cast<double>(i);
  }
  return domain;
}

std::vector<double> costs(const Owners& owners) {
  std::vector<double> cost(owners.size());
  for (std::size_t column = 0; column < cost.size(); ++column)
    cost[column] = 1 + static_cast<double>(column % 5);
  return cost;
}

void expect_in_place(const Domain& domain, int owned, int row, int i) {
  const auto at = static_cast<std::size_t>(i);
  EXPECT_EQ(domain.grid().column_of(domain.particles.x[at]),
            domain.columns()[static_cast<std::size_t>(owned)]);
  EXPECT_EQ(domain.grid().row_of(domain.particles.y[at]), row);
  const auto id = static_cast<double>(domain.particles.id[at]);
  EXPECT_EQ(domain.particles.vx[at], 2 * id);
  EXPECT_EQ(domain.particles.vy[at], 3 * id);
  EXPECT_EQ(domain.particles.heat[at], 4 * id);
}

const Owners kOwners = {1, 1, 0, 1, 1, 1, 2, 2, 1, 0, 1};

TEST(Domain, OrdersByColumnAndRow) {
  for (int threads : {1, 2, 3, 20}) {
    Domain domain = scattered(kOwners, threads);
    domain.sort(costs(kOwners));
    ASSERT_EQ(domain.particles.size(), kParticles);
    EXPECT_EQ(domain.column_begin().front(), 0);
    EXPECT_EQ(domain.column_begin().back(), kParticles);
    for (int owned = 0; owned < static_cast<int>(domain.columns().size()); ++owned) {
      const std::span<const int> rows = domain.row_begin(owned);
      const int begin = domain.column_begin()[static_cast<std::size_t>(owned)];
      EXPECT_EQ(begin + rows.back(), domain.column_begin()[static_cast<std::size_t>(owned) + 1]);
      for (int row = 0; row < domain.grid().rows; ++row) {
        const auto r = static_cast<std::size_t>(row);
        for (int i = begin + rows[r]; i < begin + rows[r + 1]; ++i) {
          expect_in_place(domain, owned, row, i);
        }
        for (int i = begin + rows[r] + 1; i < begin + rows[r + 1]; ++i) {  // as before: ids ascend
          EXPECT_LT(domain.particles.id[static_cast<std::size_t>(i - 1)],
                    domain.particles.id[static_cast<std::size_t>(i)]);
        }
      }
    }
  }
}

TEST(Domain, ThreadsShareTheColumns) {
  for (int threads : {1, 2, 3, 20}) {
    Domain domain = scattered(kOwners, threads);
    domain.sort(costs(kOwners));
    int columns = 0, particles = 0;
    for (int t = 0; t < threads; ++t) {
      EXPECT_EQ(domain.thread_columns(t).begin, columns);
      EXPECT_EQ(domain.thread_particles(t).begin, particles);
      columns = domain.thread_columns(t).end;
      particles = domain.thread_particles(t).end;
    }
    EXPECT_EQ(columns, static_cast<int>(domain.columns().size()));
    EXPECT_EQ(particles, kParticles);
  }
}

TEST(Domain, CostsDecideWhichThreadHasAColumn) {
  Domain domain = scattered({1, 1, 1, 1}, 2);
  domain.sort(std::vector<double>{1, 1, 1, 3});
  EXPECT_EQ(domain.thread_columns(0).end, 3);
  domain.sort(std::vector<double>{3, 1, 1, 1});
  EXPECT_EQ(domain.thread_columns(0).end, 1);
}

TEST(Domain, SortsAgainWithOtherOwnersAndParticles) {
  Domain domain = scattered(kOwners, 2);
  domain.sort(costs(kOwners));
  domain.set_owners({0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 2});
  for (std::size_t i = 0; i < 10; ++i) domain.particles.x[i] = 5.5 - 0.1 * static_cast<double>(i);
  domain.particles.resize(10);
  domain.sort(costs(kOwners));
  EXPECT_EQ(std::vector<int>(domain.column_begin().begin(), domain.column_begin().end()),
            std::vector<int>({0, 0, 4, 10}));
  domain.particles.resize(0);
  domain.sort(costs(kOwners));
  EXPECT_EQ(domain.column_begin().back(), 0);
}

TEST(Domain, BorderingRanks) {
  const auto bordering = [](const Owners& owners, bool periodic) {
    Domain domain(Grid(strip(static_cast<double>(owners.size())), 1), 1, 4, 1);
    domain.set_owners(owners);
    return bordering_ranks(domain, periodic);
  };
  EXPECT_EQ(bordering({1, 1, 1}, true), std::vector<int>());
  EXPECT_EQ(bordering({1, 1, 0, 0, 2}, false), std::vector<int>({0}));
  EXPECT_EQ(bordering({1, 1, 0, 0, 2}, true), std::vector<int>({0, 2}));
  EXPECT_EQ(bordering({3, 1, 0, 1, 2, 2}, false), std::vector<int>({0, 2, 3}));
  EXPECT_EQ(bordering({1, 0}, true), std::vector<int>({0}));
}

}  // namespace
}  // namespace spam

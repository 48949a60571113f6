// What forces must be, by going through all pairs and all images, and a halo without messages, so that an
// engine can be tried for any rank of a job in one process.
#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "force.hpp"
#include "friction.hpp"
#include "lucy.hpp"

namespace spam::test {

struct Image {
  double sign = 1, offset = 0;
  double operator()(double at) const { return sign * at + offset; }
};

/// All images of a direction of this length that can be in range of space; the first one is the original.
inline std::vector<Image> images_of(const Edges& edges, double length) {
  std::vector<Image> images{{}};
  if (edges.periodic()) images.insert(images.end(), {{1, -length}, {1, length}});
  if (edges.low == Boundary::kMirror) images.push_back({-1, 0});
  if (edges.high == Boundary::kMirror) images.push_back({-1, 2 * length});
  return images;
}

/// One partner's share, at (dx, dy) and the difference of velocities (du, dv).
inline void add_partner(const Material& material, double dx, double dy, double du, double dv, std::size_t i,
                        Forces* forces) {
  const double r = std::hypot(dx, dy), mass = material.mass;
  if (r >= material.range) return;
  const Lucy lucy(material.range);
  const double approach = du * dx + dv * dy;
  const double rub = Friction(material.viscosity, material.range).rub(r) * approach;
  const double push = material.beta / 60 * mass * mass * lucy.push(r) - rub;
  forces->fx[i] += push * dx;
  forces->fy[i] += push * dy;
  forces->density[i] += mass * lucy.weight(r);
  if (!forces->heating.empty()) forces->heating[i] += rub * approach / 2;
}

/// Of all particles, in their order; O(N^2).
inline Forces oracle(const Space& space, const Material& material, const Particles& all) {
  Forces forces;
  const auto count = static_cast<std::size_t>(all.size());
  for (auto* values : {&forces.fx, &forces.fy, &forces.density}) values->assign(count, 0.0);
  if (material.viscosity > 0) forces.heating.assign(count, 0.0);
  const std::vector<Image> xs = images_of(space.x, space.width), ys = images_of(space.y, space.height);
  for (std::size_t i = 0; i < count; ++i) {
    forces.density[i] += material.mass * Lucy(material.range).weight(0);
    for (std::size_t j = 0; j < count; ++j)
      for (std::size_t a = 0; a < xs.size(); ++a)
        for (std::size_t b = 0; b < ys.size(); ++b) {
          if (i == j && a == 0 && b == 0) continue;
          add_partner(material, all.x[i] - xs[a](all.x[j]), all.y[i] - ys[b](all.y[j]),
                      all.vx[i] - xs[a].sign * all.vx[j], all.vy[i] - ys[b].sign * all.vy[j], i, &forces);
        }
  }
  return forces;
}

/// Particles evenly spread in space, which move at random.
inline Particles random_particles(const Space& space, int count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> part(0, 1), velocity(-1, 1);
  Particles particles;
  particles.resize(count);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    particles.id[i] = static_cast<std::int64_t>(i);
    particles.x[i] = part(random) * space.width;
    particles.y[i] = part(random) * space.height;
    particles.vx[i] = velocity(random);
    particles.vy[i] = velocity(random);
    particles.heat[i] = 0;
  }
  return particles;
}

/// The domain of one rank: those of the particles that lie in its columns, sorted.
inline Domain domain_of(const Grid& grid, const Owners& owners, int rank, int ranks, int threads,
                        const Particles& all) {
  Domain domain(grid, rank, ranks, threads);
  domain.set_owners(owners);
  Particles& mine = domain.particles;
  int count = 0;
  mine.resize(all.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(all.size()); ++i) {
    if (owners[static_cast<std::size_t>(grid.column_of(all.x[i]))] != rank) continue;
    const auto to = static_cast<std::size_t>(count++);
    mine.id[to] = all.id[i];
    mine.x[to] = all.x[i];
    mine.y[to] = all.y[i];
    mine.vx[to] = all.vx[i];
    mine.vy[to] = all.vy[i];
    mine.heat[to] = all.heat[i];
  }
  mine.resize(count);
  domain.sort(std::vector<double>(static_cast<std::size_t>(grid.columns), 1.0));
  return domain;
}

/// Ghosts out of a domain that owns everything.
class FakeHalo : public Halo {
 public:
  FakeHalo(const Grid& grid, const Particles& all)
      : everything_(domain_of(grid, Owners(static_cast<std::size_t>(grid.columns), 0), 0, 1, 1, all)) {}

  void plan(const Domain&) override {}
  StageState stage(int) override { return {}; }
  void start(int) override {}
  void progress() override {}
  void finish(int) override {}
  ColumnView ghost(int column) const override {
    const auto begin = static_cast<std::size_t>(everything_.column_begin()[static_cast<std::size_t>(column)]);
    const Particles& all = everything_.particles;
    return {all.x.data() + begin, all.y.data() + begin, all.vx.data() + begin, all.vy.data() + begin,
            everything_.row_begin(column).data()};
  }
  Sent sent() const override { return {}; }

 private:
  Domain everything_;
};

/// The forces of all particles, by id, as the engines of `ranks` ranks compute them, each on its own.
struct EngineResult {
  Forces forces;
  double pairs = 0, candidates = 0;
};

inline EngineResult run_engine(const Settings& settings, const Particles& all, int reach,
                               const Owners& owners, int ranks,
                               std::unique_ptr<ForceEngine> (*make)(const Settings&)) {
  const Grid grid(settings.space, reach);
  EngineResult result;
  Forces& sum = result.forces;
  const auto count = static_cast<std::size_t>(all.size());
  for (auto* values : {&sum.fx, &sum.fy, &sum.density}) values->assign(count, NAN);
  if (settings.material.viscosity > 0) sum.heating.assign(count, NAN);
  FakeHalo halo(grid, all);
  for (int rank = 0; rank < ranks; ++rank) {
    Domain domain = domain_of(grid, owners, rank, ranks, settings.parallel.threads, all);
    Particles& own = domain.particles;
    const StageState state{own.x.data(), own.y.data(), own.vx.data(), own.vy.data()};
    const auto engine = make(settings);
    engine->reset_counts(domain);
    engine->prepare(domain, halo);
    engine->prepare_border(domain, halo);
    Forces forces;
    engine->inner(domain, state, true, &forces, [] {});
    engine->border(domain, state, halo, true, &forces);
    for (std::size_t i = 0; i < forces.fx.size(); ++i) {
      const auto id = static_cast<std::size_t>(own.id[i]);
      sum.fx[id] = forces.fx[i];
      sum.fy[id] = forces.fy[i];
      sum.density[id] = forces.density[i];
      if (!sum.heating.empty()) sum.heating[id] = forces.heating[i];
    }
    for (const ColumnCounts& counts : engine->counts()) {
      result.pairs += counts.pairs;
      result.candidates += counts.candidates;
    }
  }
  return result;
}

}  // namespace spam::test

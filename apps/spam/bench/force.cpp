// How fast the blocked engine finds forces on one core, for the particles of an input file as they are at
// time 0:
//
//   spam_force_bench apps/spam/examples/paper.toml
//
// Each of these takes turns, and the fastest time of each counts: the engine, by instruction set and height
// of rows (1/REACH of a cell); a plain loop over cells, one particle at a time, as one would write it first;
// and the engine's innermost loop on a long column that stays in the first cache and has every lane in use,
// which is what the arithmetic allows. Pairs are those in range, once each.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "domain.hpp"
#include "force.hpp"
#include "force_kernel.hpp"
#include "initial.hpp"
#include "input.hpp"
#include "lucy.hpp"
#include "text_file.hpp"

namespace spam {
namespace {

constexpr int kRepeats = 30;

struct Rate {
  double seconds = 1e9, pairs = 0, candidates = 0;

  void tell(const std::string& name) const {
    std::printf("%-22s %8.1f million pairs/s %6.2f ns/pair %8.1f million candidates/s\n", name.c_str(),
                pairs / seconds * 1e-6, seconds / pairs * 1e9, candidates / seconds * 1e-6);
  }
};

template <class F>
double seconds_of(const F& work) {
  const double begin = omp_get_wtime();
  work();
  return omp_get_wtime() - begin;
}

/// Forces by the plainest loop over cells: with the own cell's later particles and with four neighbours.
Rate plain_loop(const Domain& domain, const Settings& settings, Forces* forces) {
  const Grid& grid = domain.grid();
  const Particles& all = domain.particles;
  const Lucy lucy(settings.material.range);
  Rate rate;
  const auto meet = [&](std::size_t i, std::size_t j, double shift) {
    const double dx = all.x[i] - all.x[j], dy = all.y[i] - all.y[j] - shift;
    const double square = dx * dx + dy * dy;
    if (square >= lucy.range * lucy.range) return;
    const double push = lucy.push(std::sqrt(square));
    forces->fx[i] += push * dx;
    forces->fy[i] += push * dy;
    forces->fx[j] -= push * dx;
    forces->fy[j] -= push * dy;
    ++rate.pairs;
  };
  const auto cell = [&](int column, int row) {
    const int first = domain.column_begin()[static_cast<std::size_t>(column)];
    const std::span<const int> rows = domain.row_begin(column);
    return std::pair(static_cast<std::size_t>(first + rows[static_cast<std::size_t>(row)]),
                     static_cast<std::size_t>(first + rows[static_cast<std::size_t>(row) + 1]));
  };
  rate.seconds = seconds_of([&] {
    std::fill(forces->fx.begin(), forces->fx.end(), 0.0);
    std::fill(forces->fy.begin(), forces->fy.end(), 0.0);
    for (int column = 0; column < grid.columns; ++column)
      for (int row = 0; row < grid.rows; ++row) {
        const auto [begin, end] = cell(column, row);
        for (std::size_t i = begin; i < end; ++i)
          for (std::size_t j = i + 1; j < end; ++j) meet(i, j, 0);
        for (const auto& [right, up] : {std::pair(0, 1), {1, -1}, {1, 0}, {1, 1}}) {
          if (column + right == grid.columns) continue;
          const int at = row + up, periods = at < 0 ? -1 : at >= grid.rows ? 1 : 0;
          const auto [first, last] = cell(column + right, at - periods * grid.rows);
          rate.candidates += static_cast<double>((end - begin) * (last - first));
          for (std::size_t i = begin; i < end; ++i)
            for (std::size_t j = first; j < last; ++j) meet(i, j, periods * settings.space.height);
        }
      }
  });
  return rate;
}

/// The innermost loop on both sides, with all particles of a row in range of each other.
Rate bare_loop(const Settings& settings) {
  constexpr int kCount = 128;
  Settings bare = settings;
  bare.space = {settings.space.cell_size, settings.space.cell_size, settings.space.cell_size, {}, {}};
  const Grid grid(bare.space, 1);
  const ImageRows images(bare.space, grid);
  Array<double> x(kCount), y(kCount);
  for (std::size_t k = 0; k < kCount; ++k) {
    x[k] = 0.01 * static_cast<double>(k);
    y[k] = 0.002 * static_cast<double>(k * k % 977);
  }
  const int row_begin[] = {0, kCount};
  const ColumnView column{x.data(), y.data(), nullptr, nullptr, row_begin};
  Block left, right;
  left.load(column, images, {}, {});
  right.load(column, images, {}, {});
  LaneSums sums;
  sums.fx.assign(kCount * kLanesMax, 0);
  sums.fy.assign(kCount * kLanesMax, 0);
  const PairConstants constants = pair_constants(settings.material);
  sums.begins.resize(kCount);
  sums.ends.resize(kCount);
  Pass pass{&left, &right, 1, 1, -1, 2, 1 / grid.row_height, 0, &sums, 0, 0};
  Rate rate;
  rate.seconds = seconds_of([&] {
    for (int k = 0; k < 100; ++k) choose_kernels(false).both_sides[0](constants, &pass);
  });
  rate.pairs = pass.pairs;
  rate.candidates = pass.candidates;
  return rate;
}

Rate engine_loop(const Domain& domain, const StageState& state, ForceEngine* engine, Forces* forces) {
  Rate rate;
  engine->reset_counts(domain);
  rate.seconds = seconds_of([&] { engine->inner(domain, state, false, forces, [] {}); });
  for (const ColumnCounts& counts : engine->counts()) {
    rate.pairs += counts.pairs;
    rate.candidates += counts.candidates;
  }
  return rate;
}

Domain whole_space(const Settings& settings, int reach) {
  const Grid grid(settings.space, reach);
  Domain domain(grid, 0, 1, settings.parallel.threads);
  const std::vector<double> cost(static_cast<std::size_t>(grid.columns), 1.0);
  domain.set_owners(Owners(cost.size(), 0));
  make_initial_state(settings, &domain);
  domain.sort(cost);
  return domain;
}

class NoHalo : public Halo {
 public:
  void plan(const Domain&) override {}
  StageState stage(int) override { return {}; }
  void start(int) override {}
  void progress() override {}
  void finish(int) override {}
  ColumnView ghost(int) const override { return {}; }
  Sent sent() const override { return {}; }
};

struct Contender {
  std::string kernel;
  int reach;
  Domain domain;
  std::unique_ptr<ForceEngine> engine;
  Rate best, best_bare;
};

void keep(const Rate& rate, Rate* best) {
  if (rate.seconds < best->seconds) *best = rate;
}

void measure(Settings settings, const std::vector<int>& reaches) {
  settings.parallel.threads = 1;
  const Domain coarse = whole_space(settings, 1);
  std::vector<Contender> contenders;
  const NoHalo halo;
  for (const char* kernel : {"avx2", "portable"}) {
    setenv("SPAM_KERNEL", kernel, 1);
    if (choose_kernels(false).name != std::string(kernel)) continue;
    for (const int reach : reaches) {
      contenders.push_back(
          {kernel, reach, whole_space(settings, reach), make_blocked_engine(settings), {}, {}});
      contenders.back().engine->prepare(contenders.back().domain, halo);
    }
  }
  Forces forces, plain_forces;
  plain_forces.fx.resize(coarse.particles.x.size());
  plain_forces.fy.resize(coarse.particles.x.size());
  Rate best_plain;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    for (Contender& c : contenders) {
      Particles& own = c.domain.particles;
      const StageState state{own.x.data(), own.y.data(), own.vx.data(), own.vy.data()};
      keep(engine_loop(c.domain, state, c.engine.get(), &forces), &c.best);
      setenv("SPAM_KERNEL", c.kernel.c_str(), 1);
      keep(bare_loop(settings), &c.best_bare);
    }
    keep(plain_loop(coarse, settings, &plain_forces), &best_plain);
  }
  std::printf("%d particles, forces without friction\n", coarse.particles.size());
  best_plain.tell("plain");
  for (const Contender& c : contenders) {
    c.best.tell(c.kernel + ", rows of 1/" + std::to_string(c.reach));
    if (c.reach == reaches.front()) c.best_bare.tell(c.kernel + ", limit");
  }
}

}  // namespace
}  // namespace spam

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: spam_force_bench INPUT.toml [REACH ...]\n");
    return 2;
  }
  try {
    std::vector<int> reaches;
    for (int k = 2; k < argc; ++k) reaches.push_back(std::stoi(argv[k]));
    if (reaches.empty()) reaches.push_back(spam::kBlockedReach);
    spam::measure(spam::parse_input(spam::read_text(argv[1]), argv[1]), reaches);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

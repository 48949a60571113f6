// The paper's engine gives the forces of the sum over all pairs: with every kind of edge, however the columns
// are dealt out, the pairs are listed, cut and added up.
#include <gtest/gtest.h>

#include "oracle.hpp"

namespace spam {
namespace {

constexpr double kClose = 1e-12;

struct Choice {
  Update update;
  Schedule schedule;
  Sorting sorting;
  int threads;
};

const Choice kChoices[] = {
    {Update::kReduction, Schedule::kStatic, Sorting::kSerial, 1},
    {Update::kReduction, Schedule::kDynamic, Sorting::kThreaded, 3},
    {Update::kReduction, Schedule::kCyclic, Sorting::kSerial, 2},
    {Update::kCritical, Schedule::kDynamic, Sorting::kSerial, 4},
    {Update::kCritical, Schedule::kStatic, Sorting::kThreaded, 2},
};

Settings settings_of(double width, double height, Edges x, Edges y, const Choice& choice) {
  Settings settings;
  settings.space = {width, height, 3.1, x, y};
  settings.material = {1.5, 40, 3.0, 0.7};
  settings.parallel.update = choice.update;
  settings.parallel.schedule = choice.schedule;
  settings.parallel.sorting = choice.sorting;
  settings.parallel.threads = choice.threads;
  return settings;
}

void expect_close(const Array<double>& found, const Array<double>& right, const char* what) {
  ASSERT_EQ(found.size(), right.size()) << what;
  double scale = 0;
  for (double value : right) scale = std::max(scale, std::abs(value));
  for (std::size_t i = 0; i < right.size(); ++i)
    ASSERT_NEAR(found[i], right[i], kClose * scale) << what << " of particle " << i;
}

/// Ranks own single columns in turn, so every column borders on ghosts, or half of space each.
Owners owners_of(int columns, int ranks, bool in_turn) {
  Owners owners;
  for (int c = 0; c < columns; ++c) owners.push_back(in_turn ? c % ranks : c * ranks / columns);
  return owners;
}

void expect_oracle(const Settings& settings, int count, int ranks, bool in_turn) {
  const Particles all = test::random_particles(settings.space, count, 7);
  const Forces right = test::oracle(settings.space, settings.material, all);
  const int columns = Grid(settings.space, 1).columns;
  const Owners owners = owners_of(columns, std::min(ranks, columns), in_turn);
  const test::EngineResult found =
      test::run_engine(settings, all, 1, owners, std::min(ranks, columns), make_list_engine);
  expect_close(found.forces.fx, right.fx, "fx");
  expect_close(found.forces.fy, right.fy, "fy");
  expect_close(found.forces.heating, right.heating, "heating");
  expect_close(found.forces.density, right.density, "density");
}

constexpr Edges kOpen{Boundary::kOpen, Boundary::kOpen};
constexpr Edges kRightMirror{Boundary::kOpen, Boundary::kMirror};
constexpr Edges kMirrors{Boundary::kMirror, Boundary::kMirror};
constexpr Edges kPeriodic{Boundary::kPeriodic, Boundary::kPeriodic};

TEST(ForceList, AgreesWithAllPairsAtEveryEdge) {
  for (const Choice& choice : kChoices)
    for (const Edges x : {kOpen, kRightMirror, kMirrors, kPeriodic})
      for (const Edges y : {kOpen, kMirrors, kPeriodic})
        for (const int ranks : {1, 2, 3})
          expect_oracle(settings_of(22, 10, x, y, choice), 150, ranks, ranks == 3);
}

TEST(ForceList, AgreesWhereSpaceIsOneOrTwoCellsWideOrHigh) {
  for (const double width : {3.2, 6.4})
    for (const double height : {3.2, 6.4})
      for (const Edges x : {kMirrors, kPeriodic})
        for (const Edges y : {kMirrors, kPeriodic})
          for (const int ranks : {1, 2})
            expect_oracle(settings_of(width, height, x, y, kChoices[1]), 30, ranks, true);
}

TEST(ForceList, LeavesEmptyCellsAlone) {
  expect_oracle(settings_of(60, 18, kRightMirror, kPeriodic, kChoices[1]), 9, 3, false);
  expect_oracle(settings_of(60, 18, kRightMirror, kPeriodic, kChoices[2]), 0, 2, true);
}

TEST(ForceList, CountsPairsByColumnAndThread) {
  Settings settings = settings_of(40, 18, kRightMirror, kPeriodic, kChoices[2]);
  const Particles all = test::random_particles(settings.space, 800, 3);
  const Grid grid(settings.space, 1);
  double right = 0;  // pairs in range over the periodic edge, images behind the mirror one by one
  for (std::size_t i = 0; i < 800; ++i)
    for (std::size_t j = 0; j < 800; ++j)
      for (const test::Image& y : test::images_of(settings.space.y, settings.space.height)) {
        const double dy = all.y[i] - y(all.y[j]), image = 2 * settings.space.width - all.x[j];
        if (i < j) right += std::hypot(all.x[i] - all.x[j], dy) < settings.material.range;
        right += std::hypot(all.x[i] - image, dy) < settings.material.range;
      }
  Domain domain = test::domain_of(grid, Owners(static_cast<std::size_t>(grid.columns), 0), 0, 1, 2, all);
  const Particles& own = domain.particles;
  test::FakeHalo halo(grid, all);
  const auto engine = make_list_engine(settings);
  Forces forces;
  StageState state{domain.particles.x.data(), domain.particles.y.data(), domain.particles.vx.data(),
                   domain.particles.vy.data()};
  engine->reset_counts(domain);
  engine->prepare(domain, halo);
  engine->prepare_border(domain, halo);
  for (int stage = 0; stage < 2; ++stage) engine->border(domain, state, halo, false, &forces);
  EXPECT_EQ(forces.fx.size(), static_cast<std::size_t>(own.size()));
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
  // 9 cells of 3.2 x 3.6 hold about 3.6 times the particles of a disk of radius 3.
  EXPECT_NEAR(candidates / by_column, 9 * grid.column_width * grid.row_height / (M_PI * 9), 0.4);
}

}  // namespace
}  // namespace spam

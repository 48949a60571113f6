// Ghosts, checked against what they have to be: halo KIND PERIODIC_X VELOCITIES SEED
//
// Every rank knows where each particle is at each step and stage, by formulas. Particles crowd together and
// part again, so that what ranks own, and the windows that they share, must grow; some columns are empty;
// owners change every few steps, at random, some to own every other column. Ghosts are read as soon as they
// may be, and once more, a random while later, just before the next stage starts: a neighbour that ran ahead
// and wrote over them is found.
#include <mpi.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "borders.hpp"
#include "domain.hpp"
#include "halo.hpp"

namespace {

constexpr int kColumns = 24, kParticles = 1500, kSteps = 36, kStepsPerMapping = 6;
constexpr double kWidth = 48, kHeight = 9;

struct Place {
  double x, y, vx, vy;
};

double fraction(double x) {
  return x - std::floor(x);
}

Place place(int id, int step) {
  // Within a step of less than a column's width: the crowd around kWidth / 3 comes and goes.
  const double home = kWidth * fraction(id * 0.6180339887), crowd = kWidth / 3 + 0.02 * (id % 100);
  const double share = 0.5 - 0.5 * std::cos(step * 0.08);
  const double x = std::fabs(home - crowd) < 3 ? crowd : home + (crowd - home) * share * 0.97;
  return {x, kHeight * fraction(id * 0.7548776662), id + 0.25 * step, -id + 0.5 * step};
}

Place at_stage(Place from, int stage) {
  return {from.x + 0.001 * stage, from.y - 0.001 * stage, from.vx + stage, from.vy - stage};
}

spam::Owners owners_at(int step, int ranks, unsigned seed) {
  std::mt19937 random(seed * 1000 + static_cast<unsigned>(step / kStepsPerMapping));
  const int kind = static_cast<int>(random() % 3);
  spam::Owners owners(kColumns);
  for (int column = 0; column < kColumns; ++column)
    owners[static_cast<std::size_t>(column)] = kind == 0   ? column * ranks / kColumns
                                               : kind == 1 ? column % ranks
                                                           : static_cast<int>(random() % unsigned(ranks));
  for (int rank = 0; rank < ranks; ++rank) owners[static_cast<std::size_t>(rank)] = rank;
  return owners;
}

class Check {
 public:
  Check(spam::HaloKind kind, bool periodic, bool velocities, unsigned seed);
  int run();

 private:
  void move_all(int step);
  void fill();
  void write(int stage, const spam::StageState& to) const;
  void check(int stage);
  void check_column(int column, int stage);
  void wait_a_while() {
    if (random_() % 8 == 0) usleep(random_() % 300);
  }

  bool periodic_, velocities_;
  unsigned seed_;
  spam::Domain domain_;
  std::unique_ptr<spam::Halo> halo_;
  std::mt19937 random_;
  std::vector<Place> places_;              // by id, at this step
  std::vector<std::vector<int>> in_cell_;  // ids, by column and row
  int wrong_ = 0;
};

spam::Grid make_grid() {
  spam::Space space;
  space.width = kWidth;
  space.height = kHeight;
  space.cell_size = kWidth / kColumns;
  return {space, 2};
}

int number(int (*ask)(MPI_Comm, int*)) {
  int answer;
  ask(MPI_COMM_WORLD, &answer);
  return answer;
}

Check::Check(spam::HaloKind kind, bool periodic, bool velocities, unsigned seed)
    : periodic_(periodic),
      velocities_(velocities),
      seed_(seed),
      domain_(make_grid(), number(MPI_Comm_rank), number(MPI_Comm_size), 1),
      halo_(spam::make_halo(kind, MPI_COMM_WORLD, velocities, periodic)),
      random_(seed + static_cast<unsigned>(domain_.rank())) {}

void Check::move_all(int step) {
  const spam::Grid& grid = domain_.grid();
  places_.clear();
  in_cell_.assign(static_cast<std::size_t>(grid.columns * grid.rows), {});
  for (int id = 0; id < kParticles; ++id) {
    const Place here = place(id, step);
    places_.push_back(here);
    in_cell_[static_cast<std::size_t>(grid.column_of(here.x) * grid.rows + grid.row_of(here.y))].push_back(
        id);
  }
}

void Check::fill() {
  spam::Particles& own = domain_.particles;
  int count = 0;
  own.resize(kParticles);
  for (int id = 0; id < kParticles; ++id) {
    const Place& here = places_[static_cast<std::size_t>(id)];
    if (domain_.owned_number(domain_.grid().column_of(here.x)) < 0) continue;
    const auto at = static_cast<std::size_t>(count++);
    own.id[at] = id;
    own.x[at] = here.x, own.y[at] = here.y, own.vx[at] = here.vx, own.vy[at] = here.vy, own.heat[at] = 0;
  }
  own.resize(count);
}

void Check::write(int stage, const spam::StageState& to) const {
  const spam::Particles& own = domain_.particles;
  for (std::size_t i = 0; i < own.id.size(); ++i) {
    const Place there = at_stage({own.x[i], own.y[i], own.vx[i], own.vy[i]}, stage);
    to.x[i] = there.x, to.y[i] = there.y, to.vx[i] = there.vx, to.vy[i] = there.vy;
  }
}

void Check::check_column(int column, int stage) {
  const int rows = domain_.grid().rows;
  const spam::ColumnView view = halo_->ghost(column);
  int at = 0;
  for (int row = 0; row < rows; ++row) {
    if (view.row_begin[row] != at) ++wrong_;
    for (const int id : in_cell_[static_cast<std::size_t>(column * rows + row)]) {
      const Place now = at_stage(places_[static_cast<std::size_t>(id)], stage);
      if (view.x[at] != now.x || view.y[at] != now.y) ++wrong_;
      if (velocities_ && (view.vx[at] != now.vx || view.vy[at] != now.vy)) ++wrong_;
      ++at;
    }
  }
  if (view.row_begin[rows] != at) ++wrong_;
}

void Check::check(int stage) {
  for (const spam::Border& border : spam::find_borders(domain_.owners(), domain_.rank(), periodic_))
    for (const int column : border.seen) check_column(column, stage);
}

int Check::run() {
  const std::vector<double> cost(kColumns, 1.0);
  for (int step = 0; step < kSteps; ++step) {
    if (step % kStepsPerMapping == 0) {
      MPI_Barrier(MPI_COMM_WORLD);  // as remapping would have it
      domain_.set_owners(owners_at(step, domain_.ranks(), seed_));
    }
    move_all(step);
    fill();
    domain_.sort(cost);
    halo_->plan(domain_);
    for (int stage = 0; stage < (step + 1 < kSteps ? spam::kStages : 1); ++stage) {
      write(stage, halo_->stage(stage));
      wait_a_while();
      halo_->start(stage);
      halo_->progress();
      wait_a_while();
      halo_->finish(stage);
      check(stage);
      wait_a_while();
      check(stage);
    }
  }
  return wrong_;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 5) {
    std::fprintf(stderr, "usage: halo messages|shared PERIODIC_X VELOCITIES SEED\n");
    return 2;
  }
  const auto kind = std::strcmp(argv[1], "shared") == 0 ? spam::HaloKind::kShared : spam::HaloKind::kMessages;
  int wrong =
      Check(kind, std::atoi(argv[2]) != 0, std::atoi(argv[3]) != 0, unsigned(std::atoi(argv[4]))).run();
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && wrong) std::printf("halo: %d values of ghosts are wrong\n", wrong);
  if (rank == 0 && !wrong) std::printf("halo: right\n");
  MPI_Finalize();
  return wrong != 0;
}

// The main loop: the whole simulation as an MPI program, in one file.
//
// Space is cut into columns of cells, and each rank owns some of them (mapping.hpp) with the particles
// therein (domain.hpp). In every step a rank sorts its particles into cells, learns how many particles the
// columns next to its own hold (halo.hpp), and goes through four stages of Runge-Kutta. In each stage the
// border columns travel to the neighbours while the rank works on the pairs inside; then come the pairs with
// the neighbours' particles (force.hpp). At the end particles that moved into others' columns go there
// (exchange.hpp). Now and then the columns are dealt out anew, by what they cost.
#include "run.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "agree.hpp"
#include "cache.hpp"
#include "domain.hpp"
#include "error.hpp"
#include "exchange.hpp"
#include "force.hpp"
#include "halo.hpp"
#include "initial.hpp"
#include "integrate.hpp"
#include "mapping.hpp"
#include "phases.hpp"
#include "progress.hpp"
#include "restart.hpp"
#include "snapshot.hpp"
#include "summary.hpp"
#include "totals.hpp"

namespace spam {
namespace {

class Simulation {
 public:
  Simulation(MPI_Comm comm, const Settings& settings, const RunOptions& options);

  void run();

 private:
  void begin();
  void measure_costs();
  void remap_columns();
  void sort_particles();
  void compute_forces(int stage, bool density);
  void observe();
  void advance();
  void check_conservation();
  void write_restart_file();
  bool is_due(std::int64_t interval) const {
    return interval > 0 && step_ > begun_at_ && step_ % interval == 0;
  }
  bool is_last() const { return step_ == settings_.integration.steps; }

  MPI_Comm comm_;
  const Settings& settings_;
  const RunOptions& options_;
  std::int64_t step_ = 0, begun_at_ = 0;
  ChosenMapping mapping_;
  Domain domain_;
  std::unique_ptr<Halo> halo_;
  std::unique_ptr<ForceEngine> engine_;
  Integrator integrator_;
  Forces forces_;
  std::vector<double> column_cost_;  // by column of space, as of the last remapping
  double moved_max_ = 0;             // by a particle of this rank in one step
  Totals first_, now_;
  Phases phases_;
  std::unique_ptr<CacheCounters> cache_;  // of the force loops
  RunRecord record_;
};

void Simulation::run() {
  begin();
  Progress progress(domain_.rank() == 0 && !options_.quiet, step_, settings_.integration.steps);
  for (;; ++step_) {
    if (is_due(settings_.parallel.remap_interval)) remap_columns();
    sort_particles();
    const bool observed = step_ == begun_at_ || is_last() || is_due(settings_.output.check_interval) ||
                          is_due(settings_.output.snapshot_interval);
    compute_forces(0, observed);
    if (observed) {
      observe();
      progress.checked(first_, now_);
    }
    if (is_last() || is_due(settings_.output.restart_interval)) write_restart_file();
    if (is_last()) break;
    advance();
    progress.after_step(step_ + 1);
  }
  progress.end();
  record_.first = first_;
  record_.last = now_;
  record_.sent = halo_->sent();
  record_.cache = cache_->counts();
  write_summary(comm_, settings_, domain_, phases_, record_);
}

/// One step from a state whose forces are there, stage 0 of Runge-Kutta.
void Simulation::advance() {
  for (int stage = 1; stage < kStages; ++stage) {
    phases_.enter(Phase::kMove);
    integrator_.next_stage(domain_, stage - 1, forces_, halo_->stage(stage - 1), halo_->stage(stage));
    compute_forces(stage, false);
  }
  phases_.enter(Phase::kMove);
  const double moved = integrator_.end_step(forces_, halo_->stage(kStages - 1), settings_.space, &domain_);
  moved_max_ = std::max(moved_max_, moved);
  for (const ColumnCounts& count : engine_->counts()) {
    record_.pairs += count.pairs;
    record_.candidates += count.candidates;
  }
  record_.pairs_by_thread = engine_->pairs_by_thread();
  ++record_.steps;
  phases_.enter(Phase::kExchange);
  exchange_particles(comm_, &domain_, settings_.space.x.periodic(), step_);
  phases_.leave();
}

/// The neighbours' columns travel while the pairs inside are computed.
void Simulation::compute_forces(int stage, bool density) {
  const StageState state = halo_->stage(stage);
  phases_.enter(Phase::kExchange);
  if (stage == 0) integrator_.begin_step(domain_, state);
  halo_->start(stage);
  phases_.enter(Phase::kForce);
  cache_->start();
  engine_->inner(domain_, state, density, &forces_, [this] { halo_->progress(); });
  cache_->stop();
  phases_.enter(Phase::kExchange);
  halo_->finish(stage);
  if (stage == 0) {
    phases_.enter(Phase::kSorting);
    engine_->prepare_border(domain_, *halo_);
  }
  phases_.enter(Phase::kForce);
  cache_->start();
  engine_->border(domain_, state, *halo_, density, &forces_);
  cache_->stop();
  phases_.leave();
}

void Simulation::sort_particles() {
  phases_.enter(Phase::kSorting);
  domain_.sort(column_cost_);
  phases_.enter(Phase::kExchange);
  halo_->plan(domain_);
  phases_.enter(Phase::kSorting);
  engine_->reset_counts(domain_);
  engine_->prepare(domain_, *halo_);
  phases_.leave();
}

/// Deals out the columns by what they cost in the last step; after the last one, too: a restart file holds
/// what a longer run has at that step.
void Simulation::remap_columns() {
  phases_.enter(Phase::kRemap);
  const std::span<const int> columns = domain_.columns();
  std::fill(column_cost_.begin(), column_cost_.end(), 0.0);
  for (std::size_t k = 0; k < columns.size(); ++k)
    column_cost_[static_cast<std::size_t>(columns[k])] = column_cost(engine_->counts()[k]);
  MPI_Allreduce(MPI_IN_PLACE, column_cost_.data(), static_cast<int>(column_cost_.size()), MPI_DOUBLE, MPI_SUM,
                comm_);
  remap(comm_, &domain_, mapping_(domain_.ranks(), column_cost_));
  phases_.leave();
}

/// The state at `step_` as it is, with the forces of stage 0: what is conserved is, and the snapshot that is
/// due.
void Simulation::observe() {
  phases_.enter(Phase::kOutput);
  now_ = sum_totals(comm_, domain_, forces_, settings_.material);
  if (step_ == 0) first_ = now_;
  check_conservation();
  if (step_ == 0 || is_last() || is_due(settings_.output.snapshot_interval))
    write_snapshot(comm_, settings_, domain_, forces_, step_);
  phases_.leave();
}

void Simulation::check_conservation() {
  const std::string broken = compare_totals(first_, now_, settings_, step_);
  if (!broken.empty()) throw Error(broken);
  const double slack = domain_.grid().slack(settings_.material.range);
  std::string trouble;
  if (moved_max_ > slack)
    trouble = settings_.file + ": particles moved by up to " + std::to_string(moved_max_) +
              " in a step, and cells leave room for " + std::to_string(slack) +
              ": a smaller integration.time_step or a larger space.cell_size is needed";
  agree(comm_, trouble);
}

void Simulation::write_restart_file() {
  phases_.enter(Phase::kOutput);
  const std::string file = settings_.output.directory + "/restart-" + std::to_string(step_) + ".spam";
  write_restart(comm_, file, settings_, domain_, {step_, first_, column_cost_});
  phases_.leave();
}

/// The first state: that of the input file, or of a restart file.
void Simulation::begin() {
  phases_.enter(Phase::kRemap);
  if (!options_.restart.empty()) {
    Progressed progressed = read_restart(comm_, options_.restart, settings_, &domain_);
    step_ = begun_at_ = progressed.step;
    first_ = progressed.first;
    column_cost_ = std::move(progressed.column_cost);
  } else {
    domain_.set_owners(parse_mapping("flat")(domain_.ranks(), column_cost_));
    make_initial_state(settings_, &domain_);
    column_cost_ = expected_costs(comm_, domain_);
    remap(comm_, &domain_, mapping_(domain_.ranks(), column_cost_));
    measure_costs();
  }
  phases_.leave();
}

/// The forces of the first state, computed once for what they cost; by that the columns are dealt out.
/// Nothing of it is recorded, but for the time, which is that of remapping.
void Simulation::measure_costs() {
  const Phases remapping = phases_;
  sort_particles();
  compute_forces(0, false);
  remap_columns();
  halo_ = make_halo(settings_, comm_);
  engine_ = make_engine(settings_);
  cache_ = std::make_unique<CacheCounters>(domain_.threads());
  phases_ = remapping;
}

int rank_of(MPI_Comm comm) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int size_of(MPI_Comm comm) {
  int size;
  MPI_Comm_size(comm, &size);
  return size;
}

Simulation::Simulation(MPI_Comm comm, const Settings& settings, const RunOptions& options)
    : comm_(comm),
      settings_(settings),
      options_(options),
      mapping_(parse_mapping(settings.parallel.mapping)),
      domain_(grid_of(settings), rank_of(comm), size_of(comm), settings.parallel.threads),
      halo_(make_halo(settings, comm)),
      engine_(make_engine(settings)),
      integrator_(settings.integration.time_step, settings.material.mass),
      column_cost_(static_cast<std::size_t>(domain_.grid().columns), 1.0),
      cache_(std::make_unique<CacheCounters>(settings.parallel.threads)) {}

}  // namespace

void run(MPI_Comm comm, const Settings& settings, const RunOptions& options) {
  Simulation(comm, settings, options).run();
}

}  // namespace spam

// Our force engine: a thread goes through its columns from left to right, and has the one it is at and the
// next one in its cache as blocks (force_block.hpp). Particles meet the later ones of their own column, and
// those of the next column, in long vectors; a pair is found and used by the same thread, in the same
// instruction.
//
// Invariants:
//   1. A thread writes the forces of its own particles only. What its last column does to a column that
//      it does not own itself (the next thread's first, or column 0 over a periodic edge) goes into its
//      Workspace and is added by the owner after a barrier, in the order of the threads: sums do not
//      depend on chance.
//   2. Of columns of other ranks and of images behind mirrors in x there is a copy; only our side is
//   computed.
#include <omp.h>

#include <algorithm>

#include "force.hpp"
#include "force_kernel.hpp"

namespace spam {
namespace {

// Columns between two looks at messages.
constexpr int kColumnsPerPoll = 8;

// What belongs to one thread.
struct alignas(kLineBytes) Workspace {
  Block current, next, other;
  LaneSums sums;
  // Forces on an owned column of another piece; -1: none.
  int spilled_to = -1;
  Array<double> spilled_fx, spilled_fy, spilled_heating, spilled_density;
  double pairs = 0;
};

class BlockedEngine : public ForceEngine {
 public:
  explicit BlockedEngine(const Settings& settings);

  void prepare(const Domain& domain, const Halo&) override;
  void inner(const Domain& domain, const StageState& state, bool density, Forces* forces,
             const std::function<void()>& poll) override;
  void border(const Domain& domain, const StageState& state, const Halo& halo, bool density,
              Forces* forces) override;
  std::span<const ColumnCounts> counts() const override { return counts_; }
  void reset_counts(const Domain& domain) override { counts_.assign(domain.columns().size(), {}); }
  std::vector<double> pairs_by_thread() const override;

 private:
  /// A call of inner() or border().
  struct Task {
    const Domain& domain;
    const StageState& state;
    BlockParts parts;
    Forces* forces;
  };
  // A column beside another one: its number, and where it stands.
  struct Beside {
    int column = -1;  // of space; -1: there is none
    Displaced x;
  };

  Beside after(int column) const;
  Beside before(int column) const;
  ColumnView view(const Task& task, int owned) const;
  Block::Target target(const Task& task, int owned) const;
  Block::Target spill(const Task& task, Workspace* work) const;
  void go_through(const Task& task, ColumnRange piece, Workspace* work, const std::function<void()>* poll);
  void own_column(const Task& task, int owned, Workspace* work);
  void add_spilled(const Task& task, ColumnRange piece);
  void meet_ghosts(const Task& task, const Halo& halo, int owned, Workspace* work);
  void clear_sums(const Task& task, Workspace* work) const;
  void add_own_density(const Task& task, int owned) const;
  void finish(const Task& task, int owned, Block::Mode mode, Workspace* work) const;
  enum class Way { kOneSide, kBothSides, kWithin };
  void pass(const Task& task, Way way, int owned, Block* with, int row_min, int row_end, Workspace* work);
  void prepare_forces(const Task& task);

  Space space_;
  Material material_;
  PairConstants constants_;
  const Kernels& kernels_;
  ImageRows images_;
  Grid grid_;
  double row_slack_ = 0;
  bool has_ghosts_ = false;
  std::vector<Workspace> workspaces_;
  std::vector<ColumnCounts> counts_;
};

BlockedEngine::BlockedEngine(const Settings& settings)
    : space_(settings.space),
      material_(settings.material),
      constants_(pair_constants(settings.material)),
      kernels_(choose_kernels(settings.material.viscosity > 0)),
      workspaces_(static_cast<std::size_t>(settings.parallel.threads)) {}

void BlockedEngine::prepare(const Domain& domain, const Halo&) {
  grid_ = domain.grid();
  images_ = ImageRows(space_, grid_);
  row_slack_ = std::max(0.0, grid_.slack(material_.range));
  const auto is_ghost = [&](const Beside& beside) {
    return beside.column >= 0 && domain.owned_number(beside.column) < 0;
  };
  has_ghosts_ = std::any_of(domain.columns().begin(), domain.columns().end(),
                            [&](int column) { return is_ghost(before(column)) || is_ghost(after(column)); });
}

BlockedEngine::Beside BlockedEngine::after(int column) const {
  if (column + 1 < grid_.columns) return {column + 1, {}};
  if (space_.x.periodic()) return {0, {1, space_.width}};
  return {};
}

BlockedEngine::Beside BlockedEngine::before(int column) const {
  if (column > 0) return {column - 1, {}};
  if (space_.x.periodic()) return {grid_.columns - 1, {1, -space_.width}};
  return {};
}

ColumnView BlockedEngine::view(const Task& task, int owned) const {
  const int first = task.domain.column_begin()[static_cast<std::size_t>(owned)];
  const StageState& s = task.state;
  return {s.x + first, s.y + first, s.vx + first, s.vy + first, task.domain.row_begin(owned).data()};
}

Block::Target BlockedEngine::target(const Task& task, int owned) const {
  const int first = task.domain.column_begin()[static_cast<std::size_t>(owned)];
  Forces& f = *task.forces;
  return {f.fx.data() + first, f.fy.data() + first,
          task.parts.velocities ? f.heating.data() + first : nullptr,
          task.parts.density ? f.density.data() + first : nullptr};
}

Block::Target BlockedEngine::spill(const Task& task, Workspace* work) const {
  const std::span<const int> rows = task.domain.row_begin(work->spilled_to);
  const auto count = static_cast<std::size_t>(rows.back());
  work->spilled_fx.resize(count);
  work->spilled_fy.resize(count);
  if (task.parts.velocities) work->spilled_heating.resize(count);
  if (task.parts.density) work->spilled_density.resize(count);
  return {work->spilled_fx.data(), work->spilled_fy.data(),
          task.parts.velocities ? work->spilled_heating.data() : nullptr,
          task.parts.density ? work->spilled_density.data() : nullptr};
}

void BlockedEngine::clear_sums(const Task& task, Workspace* work) const {
  const auto length = static_cast<std::size_t>(work->current.own_count()) * kLanesMax;
  work->sums.begins.resize(length);
  work->sums.ends.resize(length);
  const auto clear = [length](Array<double>* array) {
    if (array->size() < length) array->resize(length + length / 4);
    std::fill_n(array->begin(), length, 0.0);
  };
  clear(&work->sums.fx);
  clear(&work->sums.fy);
  if (task.parts.velocities) clear(&work->sums.heating);
  if (task.parts.density) clear(&work->sums.density);
}

/// Brings the forces on work->current to where all may see them.
void BlockedEngine::finish(const Task& task, int owned, Block::Mode mode, Workspace* work) const {
  Block& current = work->current;
  const int count = current.own_count();
  const auto sum = [&](const Array<double>& parts, Array<double>* to) {
    kernels_.sum_lanes(parts.data(), count, to->data() + current.own_begin());
  };
  sum(work->sums.fx, &current.arrays.fx);
  sum(work->sums.fy, &current.arrays.fy);
  if (task.parts.velocities) sum(work->sums.heating, &current.arrays.heating);
  if (task.parts.density) sum(work->sums.density, &current.arrays.density);
  current.bring_to(target(task, owned), images_, constants_.force_scale(), mode);
}

/// A particle is a partner of its own.
void BlockedEngine::add_own_density(const Task& task, int owned) const {
  const int count = task.domain.row_begin(owned).back();
  double* density = target(task, owned).density;
  for (int k = 0; k < count; ++k) density[k] += constants_.density_weight;
}

void BlockedEngine::pass(const Task& task, Way way, int owned, Block* with, int row_min, int row_end,
                         Workspace* work) {
  Pass pass{&work->current,
            with,
            images_.rows(),
            images_.reach(),
            row_min,
            row_end,
            1 / grid_.row_height,
            row_slack_,
            &work->sums,
            0,
            0};
  const auto& loops = way == Way::kOneSide     ? kernels_.one_side
                      : way == Way::kBothSides ? kernels_.both_sides
                                               : kernels_.within;
  loops[task.parts.density](constants_, &pass);
  ColumnCounts& counts = counts_[static_cast<std::size_t>(owned)];
  counts.pairs += pass.pairs;
  counts.candidates += pass.candidates;
  counts.runs += pass.runs;
  work->pairs += pass.pairs;
}

/// The pairs of work->current with itself and with its images.
void BlockedEngine::own_column(const Task& task, int owned, Workspace* work) {
  const int rows = images_.rows(), reach = images_.reach();
  Block* current = &work->current;
  const bool above = images_.mirror_above();
  pass(task, Way::kWithin, owned, current, 0, above ? rows : rows + reach, work);
  if (images_.mirror_below()) pass(task, Way::kOneSide, owned, current, -reach, 0, work);
  if (above) pass(task, Way::kOneSide, owned, current, rows, rows + reach, work);
  const int column = task.domain.columns()[static_cast<std::size_t>(owned)];
  const auto meet_mirrored = [&](double edge) {
    work->other.load(view(task, owned), images_, {-1, 2 * edge}, task.parts);
    pass(task, Way::kOneSide, owned, &work->other, -reach, rows + reach, work);
  };
  if (column == 0 && space_.x.low == Boundary::kMirror) meet_mirrored(0);
  if (column == grid_.columns - 1 && space_.x.high == Boundary::kMirror) meet_mirrored(space_.width);
}

void BlockedEngine::go_through(const Task& task, ColumnRange piece, Workspace* work,
                               const std::function<void()>* poll) {
  const Domain& domain = task.domain;
  const int row_min = -images_.reach(), row_end = images_.rows() + images_.reach();
  work->spilled_to = -1;
  bool loaded = false;
  for (int owned = piece.begin; owned < piece.end; ++owned) {
    if (loaded)
      std::swap(work->current, work->next);
    else
      work->current.load(view(task, owned), images_, {}, task.parts);
    clear_sums(task, work);
    own_column(task, owned, work);
    const Beside beside = after(domain.columns()[static_cast<std::size_t>(owned)]);
    const int next = beside.column < 0 ? -1 : domain.owned_number(beside.column);
    loaded = false;
    if (next >= 0) {
      loaded = next == owned + 1 && next < piece.end;
      work->next.load(view(task, next), images_, beside.x, task.parts);
      pass(task, Way::kBothSides, owned, &work->next, row_min, row_end, work);
      if (!loaded) {
        work->spilled_to = next;
        work->next.bring_to(spill(task, work), images_, constants_.force_scale(), Block::Mode::kAssign);
      }
    }
    finish(task, owned, Block::Mode::kAssign, work);
    if (task.parts.density) add_own_density(task, owned);
    if (poll != nullptr && (owned - piece.begin) % kColumnsPerPoll == 0) (*poll)();
  }
}

/// What others' last columns did to this piece's.
void BlockedEngine::add_spilled(const Task& task, ColumnRange piece) {
  const auto add = [](const Array<double>& from, double* to) {
    for (std::size_t k = 0; k < from.size(); ++k) to[k] += from[k];
  };
  for (const Workspace& work : workspaces_) {
    if (work.spilled_to < piece.begin || work.spilled_to >= piece.end) continue;
    const Block::Target to = target(task, work.spilled_to);
    add(work.spilled_fx, to.fx);
    add(work.spilled_fy, to.fy);
    if (to.heating != nullptr) add(work.spilled_heating, to.heating);
    if (to.density != nullptr) add(work.spilled_density, to.density);
  }
}

void BlockedEngine::prepare_forces(const Task& task) {
  const auto count = static_cast<std::size_t>(task.domain.particles.size());
  task.forces->fx.resize(count);
  task.forces->fy.resize(count);
  task.forces->heating.resize(task.parts.velocities ? count : 0);
  task.forces->density.resize(task.parts.density ? count : 0);
}

void BlockedEngine::inner(const Domain& domain, const StageState& state, bool density, Forces* forces,
                          const std::function<void()>& poll) {
  const Task task{domain, state, {material_.viscosity > 0, density}, forces};
  prepare_forces(task);
  const int threads = domain.threads();
#pragma omp parallel num_threads(threads)
  {
    // OpenMP may give us fewer threads than pieces.
    const int stride = omp_get_num_threads(), self = omp_get_thread_num();
    for (int piece = self; piece < threads; piece += stride)
      go_through(task, domain.thread_columns(piece), &workspaces_[static_cast<std::size_t>(piece)],
                 self == 0 ? &poll : nullptr);
#pragma omp barrier
    for (int piece = self; piece < threads; piece += stride) add_spilled(task, domain.thread_columns(piece));
  }
}

void BlockedEngine::meet_ghosts(const Task& task, const Halo& halo, int owned, Workspace* work) {
  const int column = task.domain.columns()[static_cast<std::size_t>(owned)];
  bool loaded = false;
  for (const Beside& beside : {before(column), after(column)}) {
    if (beside.column < 0 || task.domain.owned_number(beside.column) >= 0) continue;
    if (!loaded) {
      work->current.load(view(task, owned), images_, {}, task.parts);
      clear_sums(task, work);
      loaded = true;
    }
    work->other.load(halo.ghost(beside.column), images_, beside.x, task.parts);
    pass(task, Way::kOneSide, owned, &work->other, -images_.reach(), images_.rows() + images_.reach(), work);
  }
  if (loaded) finish(task, owned, Block::Mode::kAdd, work);
}

void BlockedEngine::border(const Domain& domain, const StageState& state, const Halo& halo, bool density,
                           Forces* forces) {
  if (!has_ghosts_) return;  // threads need not be woken
  const Task task{domain, state, {material_.viscosity > 0, density}, forces};
  const int threads = domain.threads();
#pragma omp parallel num_threads(threads)
  {
    const int stride = omp_get_num_threads();
    for (int piece = omp_get_thread_num(); piece < threads; piece += stride) {
      const ColumnRange columns = domain.thread_columns(piece);
      for (int owned = columns.begin; owned < columns.end; ++owned)
        meet_ghosts(task, halo, owned, &workspaces_[static_cast<std::size_t>(piece)]);
    }
  }
}

std::vector<double> BlockedEngine::pairs_by_thread() const {
  std::vector<double> pairs;
  for (const Workspace& work : workspaces_) pairs.push_back(work.pairs);
  return pairs;
}

}  // namespace

std::unique_ptr<ForceEngine> make_blocked_engine(const Settings& settings) {
  return std::make_unique<BlockedEngine>(settings);
}

}  // namespace spam

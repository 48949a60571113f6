// The paper's engine (Yoshikawa et al. 2002, sections 3 and 4): once a step a list of the pairs (i, j) of all
// neighbouring cells is made for the whole rank, and at each stage the threads work it off with the test of
// distance inside, cut into chunks without regard to cells. It is there to compare with; what it does about
// two threads that add to the same particle is the user's choice (Update):
//
//   critical    one thread at a time
//   reduction   an array for each thread; all are added up in the end
//   none        nothing: wrong on purpose, the bound of what can be gained
//
// A list made by threads (Sorting::kThreaded) is one for each, of its own columns; all threads work them off
// one after another. With the schedule "dynamic" sums depend on who was first, in their last digits.
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "force.hpp"
#include "friction.hpp"
#include "lucy.hpp"
#include "pair_cells.hpp"

namespace spam {
namespace {

/// What acts between two particles in range.
struct Law {
  Lucy lucy;
  Friction friction;
  double strength;  // beta / 60 m^2
  double range_squared;

  explicit Law(const Material& material)
      : lucy(material.range),
        friction(material.viscosity, material.range),
        strength(material.beta / 60 * material.mass * material.mass),
        range_squared(material.range * material.range) {}
};

/// Where particles are, and what acts on them: of the rank's own ones, and their copies behind.
struct Sums {
  double *fx, *fy, *heating, *density;
};

/// The paper's figure 2. Returns how many of the pairs are in range. Not inlined, so that profilers see it.
template <bool guarded, bool rubs, bool weighs>
[[gnu::noinline]] std::int64_t work_off(const Pair* pairs, std::size_t count, const Law& law,
                                        const StageState& at, const Sums& sums) {
  std::int64_t in_range = 0;
  for (std::size_t n = 0; n < count; ++n) {
    const int i = pairs[n].i, j = pairs[n].j;  // no binding: clang 14 captures none
    const double dx = at.x[i] - at.x[j], dy = at.y[i] - at.y[j];
    const double squared = dx * dx + dy * dy;
    if (squared >= law.range_squared) continue;
    ++in_range;
    const double distance = std::sqrt(squared);
    double push = law.strength * law.lucy.push(distance), heat = 0, weight = 0;
    if constexpr (rubs) {
      const double approach = (at.vx[i] - at.vx[j]) * dx + (at.vy[i] - at.vy[j]) * dy;
      const double rub = law.friction.rub(distance) * approach;
      push -= rub;
      heat = rub * approach / 2;
    }
    if constexpr (weighs) weight = law.lucy.weight(distance);
    const auto add = [&] {
      sums.fx[i] += push * dx;
      sums.fy[i] += push * dy;
      sums.fx[j] -= push * dx;
      sums.fy[j] -= push * dy;
      if constexpr (rubs) {
        sums.heating[i] += heat;
        sums.heating[j] += heat;
      }
      if constexpr (weighs) {
        sums.density[i] += weight;
        sums.density[j] += weight;
      }
    };
    if constexpr (guarded) {
#pragma omp critical(spam_update)
      add();
    } else {
      add();
    }
  }
  return in_range;
}

using WorkOff = std::int64_t (*)(const Pair*, std::size_t, const Law&, const StageState&, const Sums&);

template <bool guarded>
WorkOff choose_loop(bool rubs, bool weighs) {
  if (rubs) return weighs ? work_off<guarded, true, true> : work_off<guarded, true, false>;
  return weighs ? work_off<guarded, false, true> : work_off<guarded, false, false>;
}

/// The pairs of neighbouring owned columns.
struct PairList {
  Array<Pair> pairs;
  int first_column = 0;
  std::vector<std::size_t> column_begin;  // in `pairs`; one more than columns
};

class ListEngine : public ForceEngine {
 public:
  explicit ListEngine(const Settings& settings)
      : choice_(settings.parallel),
        law_(settings.material),
        mass_(settings.material.mass),
        rubs_(settings.material.viscosity > 0),
        cells_(settings.space, rubs_),
        lists_(static_cast<std::size_t>(choice_.sorting == Sorting::kThreaded ? choice_.threads : 1)),
        own_sums_(static_cast<std::size_t>(has_own_sums() ? choice_.threads : 0)),
        found_(static_cast<std::size_t>(choice_.threads)),
        pairs_by_thread_(static_cast<std::size_t>(choice_.threads)) {}

  void prepare(const Domain&, const Halo&) override {}
  void prepare_border(const Domain& domain, const Halo& halo) override;
  /// As in the paper, work begins when all ghosts are there.
  void inner(const Domain&, const StageState&, bool, Forces*, const std::function<void()>&) override {}
  void border(const Domain& domain, const StageState& state, const Halo& halo, bool density,
              Forces* forces) override;

  std::span<const ColumnCounts> counts() const override { return counts_; }
  void reset_counts(const Domain& domain) override { counts_.assign(domain.columns().size(), {}); }
  std::vector<double> pairs_by_thread() const override { return pairs_by_thread_; }

 private:
  bool has_own_sums() const { return choice_.update == Update::kReduction && choice_.threads > 1; }
  void fill_list(int first_column, int end_column, PairList* list) const;
  void copy_state(const Domain& domain, const StageState& state, const Halo& halo);
  void resize(Forces* forces, bool density) const;
  void clear(Forces* forces, bool density, int begin, int end) const;
  void work_off_lists(const Sums* sums, WorkOff loop);
  void work_off_chunk(const PairList& list, std::size_t begin, std::size_t end, const Sums& sums,
                      WorkOff loop);
  void add_up(bool density, Forces* forces) const;
  void finish(bool density, Forces* forces);

  Parallel choice_;
  Law law_;
  double mass_;
  bool rubs_;
  PairCells cells_;
  std::vector<PairList> lists_;
  Array<double> x_, y_, vx_, vy_;  // of own particles and copies
  StageState at_;
  std::vector<Forces> own_sums_;            // of each thread
  std::vector<Array<std::int64_t>> found_;  // by thread and owned column: pairs in range, in this call
  std::vector<ColumnCounts> counts_;
  std::vector<double> pairs_by_thread_;
};

void ListEngine::border(const Domain& domain, const StageState& state, const Halo& halo, bool density,
                        Forces* forces) {
  copy_state(domain, state, halo);
  resize(forces, density);
  for (Forces& sums : own_sums_) resize(&sums, density);
  const bool guarded = choice_.update == Update::kCritical;
  const WorkOff loop = guarded ? choose_loop<true>(rubs_, density) : choose_loop<false>(rubs_, density);
  omp_set_schedule(choice_.schedule == Schedule::kDynamic ? omp_sched_dynamic : omp_sched_static, 1);
#pragma omp parallel num_threads(choice_.threads)
  {
    const int thread = omp_get_thread_num();
    const auto t = static_cast<std::size_t>(thread);
    found_[t].assign(counts_.size(), 0);
    Forces* target = has_own_sums() ? &own_sums_[t] : forces;
    const auto part = [&](int number) {
      return static_cast<int>(static_cast<std::int64_t>(cells_.all()) * number / choice_.threads);
    };
    if (has_own_sums())
      clear(target, density, 0, cells_.all());
    else
      clear(target, density, part(thread), part(thread + 1));
#pragma omp barrier
    const Sums sums{target->fx.data(), target->fy.data(), target->heating.data(), target->density.data()};
    work_off_lists(&sums, loop);
    if (has_own_sums()) add_up(density, forces);
  }
  finish(density, forces);
}

void ListEngine::prepare_border(const Domain& domain, const Halo& halo) {
  cells_.set_up(domain, halo);
  const auto columns = static_cast<int>(domain.columns().size());
  if (choice_.sorting == Sorting::kSerial) {
    fill_list(0, columns, &lists_[0]);
    return;
  }
#pragma omp parallel num_threads(choice_.threads)
  {
    const int thread = omp_get_thread_num();
    const ColumnRange mine = domain.thread_columns(thread);
    fill_list(mine.begin, mine.end, &lists_[static_cast<std::size_t>(thread)]);
  }
}

void ListEngine::fill_list(int first_column, int end_column, PairList* list) const {
  list->first_column = first_column;
  list->column_begin.assign(1, 0);
  for (int k = first_column; k < end_column; ++k)
    list->column_begin.push_back(list->column_begin.back() + cells_.count_pairs(k));
  if (list->pairs.capacity() < list->column_begin.back()) list->pairs.clear();  // nothing to be moved
  list->pairs.resize(list->column_begin.back());
  for (int k = first_column; k < end_column; ++k)
    cells_.list_pairs(k, list->pairs.data() + list->column_begin[static_cast<std::size_t>(k - first_column)]);
}

/// Own particles by the threads that hold them, then their copies and the ghosts.
void ListEngine::copy_state(const Domain& domain, const StageState& state, const Halo& halo) {
  const auto all = static_cast<std::size_t>(cells_.all());
  const double* from[] = {state.x, state.y, state.vx, state.vy};
  Array<double>* to[] = {&x_, &y_, &vx_, &vy_};
  const int kinds = rubs_ ? 4 : 2;
  for (int kind = 0; kind < kinds; ++kind) to[kind]->resize(all);
  at_ = {x_.data(), y_.data(), vx_.data(), vy_.data()};
#pragma omp parallel num_threads(choice_.threads)
  {
    const ColumnRange mine = domain.thread_particles(omp_get_thread_num());
    for (int kind = 0; kind < kinds; ++kind)
      std::copy(from[kind] + mine.begin, from[kind] + mine.end, to[kind]->data() + mine.begin);
#pragma omp barrier
    cells_.copy_places(halo, at_, omp_get_thread_num(), choice_.threads);
  }
}

void ListEngine::resize(Forces* forces, bool density) const {
  const auto all = static_cast<std::size_t>(cells_.all());
  forces->fx.resize(all);
  forces->fy.resize(all);
  forces->heating.resize(rubs_ ? all : 0);
  forces->density.resize(density ? all : 0);
}

void ListEngine::clear(Forces* forces, bool density, int begin, int end) const {
  std::fill(forces->fx.begin() + begin, forces->fx.begin() + end, 0.0);
  std::fill(forces->fy.begin() + begin, forces->fy.begin() + end, 0.0);
  if (rubs_) std::fill(forces->heating.begin() + begin, forces->heating.begin() + end, 0.0);
  if (density) std::fill(forces->density.begin() + begin, forces->density.begin() + end, 0.0);
}

/// All threads of the region together, one list after another.
void ListEngine::work_off_lists(const Sums* sums, WorkOff loop) {
  const int chunks =
      choice_.threads * (choice_.schedule == Schedule::kStatic ? 1 : choice_.chunks_per_thread);
  for (const PairList& list : lists_) {
    const std::size_t count = list.pairs.size(), of = static_cast<std::size_t>(chunks);
#pragma omp for schedule(runtime)
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const auto number = static_cast<std::size_t>(chunk);
      work_off_chunk(list, count * number / of, count * (number + 1) / of, *sums, loop);
    }
  }
}

/// Column by column, to know what each takes.
void ListEngine::work_off_chunk(const PairList& list, std::size_t begin, std::size_t end, const Sums& sums,
                                WorkOff loop) {
  const auto after = std::upper_bound(list.column_begin.begin(), list.column_begin.end(), begin);
  auto column = static_cast<std::size_t>(after - list.column_begin.begin()) - 1;
  auto& found = found_[static_cast<std::size_t>(omp_get_thread_num())];
  for (; begin < end; ++column) {
    const std::size_t stop = std::min(end, list.column_begin[column + 1]);
    found[static_cast<std::size_t>(list.first_column) + column] +=
        loop(list.pairs.data() + begin, stop - begin, law_, at_, sums);
    begin = stop;
  }
}

/// Every thread adds up a share of the particles, over all threads' arrays.
void ListEngine::add_up(bool density, Forces* forces) const {
  const auto sum = [this](Array<double> Forces::*values, Forces* to) {
    double* target = (to->*values).data();
#pragma omp for schedule(static)
    for (int p = 0; p < cells_.all(); ++p) {
      double total = 0;
      for (const Forces& sums : own_sums_) total += (sums.*values)[static_cast<std::size_t>(p)];
      target[p] = total;
    }
  };
  sum(&Forces::fx, forces);
  sum(&Forces::fy, forces);
  if (rubs_) sum(&Forces::heating, forces);
  if (density) sum(&Forces::density, forces);
}

void ListEngine::finish(bool density, Forces* forces) {
  const auto own = static_cast<std::size_t>(cells_.own());
  cells_.give_back(forces->fx.data());
  cells_.give_back(forces->fy.data());
  if (rubs_) cells_.give_back(forces->heating.data());
  if (density) {
    cells_.give_back(forces->density.data());
    for (std::size_t p = 0; p < own; ++p)
      forces->density[p] = mass_ * (forces->density[p] + law_.lucy.weight(0));
    forces->density.resize(own);
  }
  forces->fx.resize(own);
  forces->fy.resize(own);
  if (rubs_) forces->heating.resize(own);
  for (std::size_t t = 0; t < found_.size(); ++t)
    for (std::size_t k = 0; k < counts_.size(); ++k) {
      counts_[k].pairs += static_cast<double>(found_[t][k]);
      pairs_by_thread_[t] += static_cast<double>(found_[t][k]);
    }
  for (const PairList& list : lists_)
    for (std::size_t n = 0; n + 1 < list.column_begin.size(); ++n)
      counts_[static_cast<std::size_t>(list.first_column) + n].candidates +=
          static_cast<double>(list.column_begin[n + 1] - list.column_begin[n]);
}

}  // namespace

std::unique_ptr<ForceEngine> make_list_engine(const Settings& settings) {
  return std::make_unique<ListEngine>(settings);
}

}  // namespace spam

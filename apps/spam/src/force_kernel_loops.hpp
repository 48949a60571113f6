// The loops of force_kernel.hpp, as templates of the instruction set: each force_kernel_*.cpp includes this
// after it has told the compiler for which processor it may write, so there is no include guard's sharing to
// think of.
//
// An Isa has kLanes, the type Real of a vector, and root(), its square root.
#pragma once

#include <algorithm>

#include "force_kernel.hpp"

// No vector crosses the border of a translation unit.
#pragma GCC diagnostic ignored "-Wpsabi"
#define SPAM_INLINE inline __attribute__((always_inline))

namespace spam {
namespace {

// Vectors of the compiler (GCC's and Clang's extension): arithmetic on each lane; a comparison gives 0 or -1.
template <int kLanes>
struct Vectors {
  typedef double Real __attribute__((vector_size(8 * kLanes)));
  typedef long long Integer __attribute__((vector_size(8 * kLanes)));
};

// Keeps roots of 0 finite; nothing to any distance that matters.
constexpr double kTiny = 1e-280;

enum class Sides { kOne, kBoth, kWithin };

template <class Isa>
SPAM_INLINE typename Isa::Real& vector_at(double* array, int at) {
  return *reinterpret_cast<typename Isa::Real*>(array + at);
}

template <class Isa>
SPAM_INLINE const typename Isa::Real& vector_at(const double* array, int at) {
  return *reinterpret_cast<const typename Isa::Real*>(array + at);
}

// Pointers into a block.
struct Places {
  double *x, *y, *vx, *vy, *fx, *fy, *heating, *density;

  explicit Places(Block* block) : Places(block->arrays) {}
  explicit Places(BlockArrays& a)
      : x(a.x.data()),
        y(a.y.data()),
        vx(a.vx.data()),
        vy(a.vy.data()),
        fx(a.fx.data()),
        fy(a.fy.data()),
        heating(a.heating.data()),
        density(a.density.data()) {}
};

// What a particle gets from its partners, a part for each lane.
template <class Real>
struct Gathered {
  Real fx{}, fy{}, heating{}, density{};
};

// A particle against all of [begin, end), both multiples of the lanes; `after`: only with those after that
// one.
template <class Isa, Sides kSides, bool kFriction, bool kDensity>
SPAM_INLINE void meet(const PairConstants& c, const Places& i, int at, const Places& j, int begin, int end,
                      Gathered<typename Isa::Real>* gathered, typename Vectors<Isa::kLanes>::Integer* pairs) {
  using Real = typename Isa::Real;
  using Integer = typename Vectors<Isa::kLanes>::Integer;
  const double x = i.x[at], y = i.y[at];
  const double vx = kFriction ? i.vx[at] : 0, vy = kFriction ? i.vy[at] : 0;
  Gathered<Real> sum = *gathered;
  Integer count = *pairs;
  const Real zero{};
  Integer lane;
  for (int k = 0; k < Isa::kLanes; ++k) lane[k] = k;
  for (int p = begin; p < end; p += Isa::kLanes) {
    const Real dx = x - vector_at<Isa>(j.x, p), dy = y - vector_at<Isa>(j.y, p);
    const Real square = dx * dx + (dy * dy + kTiny);
    const Real rest = 1.0 - Isa::root(square) * c.inverse_range;
    Real t = rest > zero ? rest : zero;
    Integer close = square < c.range_squared;
    if constexpr (kSides == Sides::kWithin) {
      const Integer later = lane > static_cast<long long>(at - p);
      t = later ? t : zero;
      close &= later;
    }
    count -= close;
    Real strength = t * t;
    if constexpr (kFriction) {
      const Real dvx = vx - vector_at<Isa>(j.vx, p), dvy = vy - vector_at<Isa>(j.vy, p);
      const Real approach = dvx * dx + dvy * dy;
      const Real rub = strength * c.drag * approach;
      const Real heat = 0.5 * rub * approach;
      sum.heating += heat;
      if constexpr (kSides != Sides::kOne) vector_at<Isa>(j.heating, p) += heat;
      strength = strength * c.push - rub;
    }
    const Real fx = strength * dx, fy = strength * dy;
    sum.fx += fx;
    sum.fy += fy;
    if constexpr (kSides != Sides::kOne) {
      vector_at<Isa>(j.fx, p) -= fx;
      vector_at<Isa>(j.fy, p) -= fy;
    }
    if constexpr (kDensity) {
      const Real weight = c.density_weight * (4.0 - 3.0 * t) * (t * t * t);
      sum.density += weight;
      if constexpr (kSides != Sides::kOne) vector_at<Isa>(j.density, p) += weight;
    }
  }
  *gathered = sum;
  *pairs = count;
}

// Where the partners of each particle begin and end: rows whose particles may be within the range of it in y,
// as far as the block's distance in x leaves any. Rows are those of the last sorting; `row_slack` is how far
// particles may have moved since. At open ends the first and the last row go on for ever.
SPAM_INLINE void find_windows(const PairConstants& c, const Pass& pass, const double* x, const double* y,
                              int count, int* begins, int* ends) {
  const double left = pass.with->x_min(), right = pass.with->x_max(), slack = pass.row_slack;
  const double scale = pass.rows_per_length, square_max = c.range_squared, origin = pass.reach;
  const double begin_min = pass.row_min + pass.reach, end_max = pass.row_end + pass.reach;
  const double begin_max = pass.rows + pass.reach - 1, end_min = pass.reach + 1;
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (int k = 0; k < count; ++k) {
    const double gap = std::max(0.0, std::max(left - x[k], x[k] - right));
    const double height = __builtin_sqrt(std::max(0.0, square_max - gap * gap)) + slack;
    const double begin = (y[k] - height) * scale + origin, end = (y[k] + height) * scale + origin + 1;
    begins[k] = static_cast<int>(std::max(begin_min, std::min(begin_max, begin)));
    ends[k] = static_cast<int>(std::min(end_max, std::max(end_min, end)));
  }
  const int* row_begin = pass.with->row_begins();
  for (int k = 0; k < count; ++k) {
    begins[k] = row_begin[begins[k]];
    ends[k] = row_begin[ends[k]];
  }
}

template <class Isa, Sides kSides, bool kFriction, bool kDensity>
void go_through(const PairConstants& constants, Pass* pass) {
  using Real = typename Isa::Real;
  using Integer = typename Vectors<Isa::kLanes>::Integer;
  constexpr int kLanes = Isa::kLanes;
  const PairConstants c = constants;
  const Places i(pass->of), j(pass->with);
  double *fx = pass->sums->fx.data(), *fy = pass->sums->fy.data(), *heating = pass->sums->heating.data(),
         *density = pass->sums->density.data();
  const int own_begin = pass->of->own_begin(), count = pass->of->own_count();
  int *begins = pass->sums->begins.data(), *ends = pass->sums->ends.data();
  find_windows(c, *pass, i.x + own_begin, i.y + own_begin, count, begins, ends);
  Integer pairs{};
  long long candidates = 0, runs = 0;
  for (int k = 0; k < count; ++k) {
    const int at = own_begin + k;
    const int begin = kSides == Sides::kWithin ? at + 1 : begins[k], end = ends[k];
    if (begin >= end) continue;
    candidates += end - begin;
    ++runs;
    const int slot = k * kLanes;
    Gathered<Real> sum;
    sum.fx = vector_at<Isa>(fx, slot);
    sum.fy = vector_at<Isa>(fy, slot);
    if constexpr (kFriction) sum.heating = vector_at<Isa>(heating, slot);
    if constexpr (kDensity) sum.density = vector_at<Isa>(density, slot);
    meet<Isa, kSides, kFriction, kDensity>(c, i, at, j, begin & -kLanes, (end + kLanes - 1) & -kLanes, &sum,
                                           &pairs);
    vector_at<Isa>(fx, slot) = sum.fx;
    vector_at<Isa>(fy, slot) = sum.fy;
    if constexpr (kFriction) vector_at<Isa>(heating, slot) = sum.heating;
    if constexpr (kDensity) vector_at<Isa>(density, slot) = sum.density;
  }
  for (int k = 0; k < kLanes; ++k) pass->pairs += static_cast<double>(pairs[k]);
  pass->candidates += static_cast<double>(candidates);
  pass->runs += static_cast<double>(runs);
}

template <class Isa>
void sum_lanes(const double* parts, int count, double* to) {
  for (int k = 0; k < count; ++k) {
    double sum = 0;
#pragma GCC unroll 8
    for (int lane = 0; lane < Isa::kLanes; ++lane) sum += parts[k * Isa::kLanes + lane];
    to[k] += sum;
  }
}

template <class Isa, bool kFriction>
constexpr Kernels make_kernels(const char* name) {
  return {
      name,
      {go_through<Isa, Sides::kOne, kFriction, false>, go_through<Isa, Sides::kOne, kFriction, true>},
      {go_through<Isa, Sides::kBoth, kFriction, false>, go_through<Isa, Sides::kBoth, kFriction, true>},
      {go_through<Isa, Sides::kWithin, kFriction, false>, go_through<Isa, Sides::kWithin, kFriction, true>},
      sum_lanes<Isa>};
}

}  // namespace
}  // namespace spam

// The innermost loops of the blocked engine: particles of one block against pieces of the same or another
// one, in vectors as long as the processor has them. Built several times; which one runs is chosen at run
// time.
//
// A pair has the force t^2 (push - drag u) d on i, with d = x_i - x_j, t = max(0, 1 - |d| / R) and
// u = (v_i - v_j) . d, so out of range it is 0 without a branch. The constant `push` is left out where there
// is no friction (drag = 0): Block::add_to multiplies by it.
#pragma once

#include "force_block.hpp"

namespace spam {

/// Forces on the particles of a block that passes gather, a part for each lane of a vector; and memory for a
/// pass.
struct LaneSums {
  Array<double> fx, fy, heating, density;  // own particles x kLanesMax, at least
  std::vector<int> begins, ends;           // own particles
};

struct PairConstants {
  double inverse_range = 0, range_squared = 0;
  double push = 0;            // (beta / 60) m^2 * 12 * 5 / (pi R^4)
  double drag = 0;            // g / R^2
  double density_weight = 0;  // m * 5 / (pi R^2)

  double force_scale() const { return drag != 0 ? 1 : push; }
};

PairConstants pair_constants(const Material& material);

/// One pass: each own particle of `of` with those of `with` that may be in range.
struct Pass {
  Block* of = nullptr;
  Block* with = nullptr;
  int rows = 0, reach = 0;
  int row_min = 0, row_end = 0;  // of `with`: no others
  double rows_per_length = 0;
  double row_slack = 0;  // how far particles may be from their row
  LaneSums* sums = nullptr;
  double pairs = 0, candidates = 0, runs = 0;  // are added to
};

struct Kernels {
  const char* name;
  // Each by [density].
  /// Forces on `of` alone.
  void (*one_side[2])(const PairConstants&, Pass*);
  /// On both. `of` and `with` are different.
  void (*both_sides[2])(const PairConstants&, Pass*);
  /// On both, each particle with those that come after it. `of` and `with` are the same.
  void (*within[2])(const PairConstants&, Pass*);
  /// Adds the parts of the first `count` particles up.
  void (*sum_lanes)(const double* parts, int count, double* to);
};

/// The fastest for this processor, with or without friction. The environment's SPAM_KERNEL=portable asks for
/// those of any processor, to compare.
const Kernels& choose_kernels(bool friction);

/// Null where the processor has no such instructions.
const Kernels* avx2_kernels(bool friction);

}  // namespace spam

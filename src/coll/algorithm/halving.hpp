// Reducing by halves over any number of ranks: what the long reductions share.
//
// The halving needs a power of two of ranks. So of the first 2 * rest ranks the odd ones ("guests") hand
// their vectors to their even neighbours ("hosts") and stand aside; the others work, numbered by an index.
// Ranks are counted from `root` on, so that the root always works and has index 0.
#pragma once

#include "coll/algorithm/algorithms.hpp"

namespace tasuki {

struct Fold {
  int size;
  int root;
  int workers;  // a power of two
  int rest;     // guests

  Fold(int size_of_comm, int first)
      : size(size_of_comm), root(first), workers(floor_pow2(size_of_comm)), rest(size_of_comm - workers) {}

  int vrank(int rank) const { return (rank - root + size) % size; }
  bool is_guest(int rank) const { return vrank(rank) < 2 * rest && vrank(rank) % 2 == 1; }
  bool is_host(int rank) const { return vrank(rank) < 2 * rest && vrank(rank) % 2 == 0; }
  int guest_of(int host) const { return (host + 1) % size; }
  int host_of(int guest) const { return (guest - 1 + size) % size; }
  int index(int rank) const { return vrank(rank) < 2 * rest ? vrank(rank) / 2 : vrank(rank) - rest; }
  int vrank_of(int at_index) const { return at_index < rest ? 2 * at_index : at_index + rest; }
  int rank_of(int at_index) const { return (vrank_of(at_index) + root) % size; }
};

/// Reduces by recursive halving: afterwards the worker with index i has at `result`, which is as long as the
/// whole vector, the elements from boundaries[i] to boundaries[i+1] - 1 reduced over all ranks. The order of
/// ranks is not kept: for commutative operations. A guest only sends, and its `result` is not used. REQUIRES:
/// schedule.boundaries has workers + 1 entries; there are at least two ranks. The last reduction is in the
/// round that is left open.
void reduce_by_halves(Schedule& schedule, Member self, const Fold& fold, const Reduction& data, Place result);
Cost reduce_by_halves_cost(int size, double bytes);

/// Makes schedule.boundaries cut `count` elements into equal parts for the workers.
void cut_equally(Schedule& schedule, int parts, Count count);

}  // namespace tasuki

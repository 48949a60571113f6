// Reducing by halves over any number of ranks: what the long reductions share. The halving needs a power of
// two of ranks: those that work (Fold in coll/algorithm/order.hpp).
#pragma once

#include "coll/algorithm/order.hpp"

namespace tasuki {

/// With which worker the first half is exchanged. kNear: with the next one, so that all is combined in the
/// order of ranks. kFar: with the one half of the workers away, so that each ends with the part of its own
/// number; for commutative operations.
enum class Halves { kNear, kFar };

/// The number of the part that the worker with this index ends with, with kNear: the index with its bits in
/// reverse. So it is also the index of the worker that ends with the part of this number.
int part_of_worker(const Fold& fold, int index);

/// Reduces by recursive halving: afterwards the worker has at `result`, which is as long as the whole vector,
/// the elements from boundaries[p] to boundaries[p+1] - 1 reduced over all ranks, where p is its part. A
/// guest only sends, and its `result` is not used. REQUIRES: schedule.boundaries has workers + 1 entries;
/// there are at least two ranks. The last reduction is in the round that is left open.
void reduce_by_halves(Schedule& schedule, Member self, const Fold& fold, const Reduction& data, Place result,
                      Halves halves);
Cost reduce_by_halves_cost(int size, double bytes);

/// Makes schedule.boundaries cut `count` elements into equal parts for the workers.
void cut_equally(Schedule& schedule, int parts, Count count);

}  // namespace tasuki

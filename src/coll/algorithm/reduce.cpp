// The algorithms of the reduction: see coll/algorithm/algorithms.hpp.
#include "coll/algorithm/algorithms.hpp"

#include "coll/algorithm/halving.hpp"
#include "coll/algorithm/tree.hpp"

namespace tasuki {

void reduce_halving(Schedule& schedule, Member self, int root, const Reduction& data) {
  const Fold fold(self.size, root);
  const bool is_root = self.rank == root;
  if (self.size == 1) {
    if (!data.in_place) schedule.copy(data.input(), data.count, kReduced, kResult, data.count, kReduced);
    schedule.end_round();
    return;
  }
  cut_equally(schedule, fold.workers, data.count);
  const bool works = !fold.is_guest(self.rank);
  const Place result = is_root || !works ? kResult : schedule.scratch_elements(data.count, data.type);
  reduce_by_halves(schedule, self, fold, data, result);
  if (!works) return;

  const int index = fold.index(self.rank);
  const auto begin = [&](int part) { return schedule.boundaries[static_cast<std::size_t>(part)]; };
  for (int parts = 1; parts < fold.workers; parts *= 2) {
    if ((index & parts) != 0) {
      schedule.send(result + begin(index) * data.type.extent, begin(index + parts) - begin(index), kReduced,
                    fold.rank_of(index - parts));
      break;
    }
    const int first = index + parts;
    schedule.receive(result + begin(first) * data.type.extent, begin(first + parts) - begin(first), kReduced,
                     fold.rank_of(first));
    schedule.end_round();
  }
  schedule.end_round();
}

Cost reduce_halving_cost(int size, double bytes) {
  Cost cost = reduce_by_halves_cost(size, bytes);
  const int workers = floor_pow2(size);
  cost.steps += ceil_log2(workers);
  cost.messages += workers - 1;
  cost.bytes += bytes * (workers - 1) / workers;
  cost.total_bytes += tree_blocks_moved(workers) * bytes / workers;
  return cost;
}

}  // namespace tasuki

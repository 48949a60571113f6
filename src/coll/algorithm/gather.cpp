// The algorithms of the gather: see coll/algorithm/algorithms.hpp.
#include "coll/algorithm/algorithms.hpp"

#include "coll/algorithm/tree.hpp"

namespace tasuki {

void gather_linear(Schedule& schedule, Member self, int root, const Elements& mine, const Blocks& all) {
  if (self.rank != root) {
    schedule.send(mine.place(), mine.count, mine.element, root);
    schedule.end_round();
    return;
  }
  place_own_block(schedule, self, mine, all);
  for (int distance = 1; distance < self.size; ++distance) {
    const int peer = neighbour(self, distance);
    schedule.receive(all.place_of(peer), all.count_of(peer), all.element, peer);
  }
  schedule.end_round();
}

Cost gather_linear_cost(int size, double block_bytes) {
  const double others = size - 1;
  return {.steps = others,
          .messages = others,
          .bytes = others * block_bytes,
          .total_bytes = others * block_bytes,
          .copied_bytes = block_bytes,
          .one_way = true};
}

}  // namespace tasuki

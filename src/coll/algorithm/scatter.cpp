// The algorithms of the scatter: see coll/algorithm/algorithms.hpp.
#include "coll/algorithm/algorithms.hpp"

#include "coll/algorithm/tree.hpp"

namespace tasuki {

void scatter_linear(Schedule& schedule, Member self, int root, const Blocks& all, const Elements& mine) {
  if (self.rank != root) {
    schedule.receive(mine.place(), mine.count, mine.element, root);
    schedule.end_round();
    return;
  }
  for (int distance = 1; distance < self.size; ++distance) {
    const int peer = neighbour(self, distance);
    schedule.send(all.place_of(peer), all.count_of(peer), all.element, peer);
  }
  take_own_block(schedule, self, all, mine);
  schedule.end_round();
}

Cost scatter_linear_cost(int size, double block_bytes) {
  return gather_linear_cost(size, block_bytes);  // the same messages, the other way
}

}  // namespace tasuki

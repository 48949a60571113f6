// The algorithms of the barrier: see coll/algorithm/algorithms.hpp.
#include "coll/algorithm/algorithms.hpp"

#include "coll/algorithm/tree.hpp"

namespace tasuki {

void barrier_dissemination(Schedule& schedule, Member self) {
  const Place nowhere{};
  for (int distance = 1; distance < self.size; distance *= 2) {
    schedule.receive(nowhere, 0, ElementType::kBytes, neighbour(self, -distance));
    schedule.send(nowhere, 0, ElementType::kBytes, neighbour(self, distance));
    schedule.end_round();
  }
}

Cost barrier_dissemination_cost(int size) {
  const double steps = ceil_log2(size);
  return {.steps = steps, .messages = size * steps};
}

}  // namespace tasuki

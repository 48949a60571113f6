// The algorithms of the reduction: see coll/algorithm/algorithms.hpp.
#include "coll/algorithm/algorithms.hpp"

#include <vector>

#include "coll/algorithm/halving.hpp"
#include "coll/algorithm/knomial.hpp"

namespace tasuki {

void reduce_binomial(Schedule& schedule, Member self, int root, const Reduction& data) {
  const Fold fold(self.size, root);
  if (fold.is_guest(self.rank)) {
    schedule.send(data.input(), data.count, kReduced, Fold::partner(self.rank));
    schedule.end_round();
    return;
  }
  struct Child {
    int rank;
    bool own_is_left;
  };
  std::vector<Child> children;
  if (fold.is_host(self.rank)) children.push_back({Fold::partner(self.rank), Fold::is_left(self.rank)});
  const int index = fold.index(self.rank);
  const int way = index ^ fold.index(root);  // its lowest bit leads to the parent
  int distance = 1;
  for (; distance < fold.workers && (way & distance) == 0; distance *= 2)
    children.push_back({fold.rank_of(index ^ distance), (index & distance) == 0});

  const bool is_root = self.rank == root;
  const bool needs_room = !is_root && !children.empty();
  const Place result = needs_room ? schedule.scratch_elements(data.count, data.type) : kResult;
  // The sum takes the other place whenever it is the left operand. At the root it shall end in the result.
  std::size_t changes = 0;
  for (std::size_t child = 1; child < children.size(); ++child)
    changes += children[child].own_is_left ? 1 : 0;
  // Also where it commutes: a sum that stays where it is took a tenth longer (64 KiB, 4 ranks, EPYC).
  Reduction in_order = data;
  in_order.commutative = false;
  Operands operands(schedule, in_order, result, changes % 2 == 1);
  for (const auto& [rank, own_is_left] : children) {
    schedule.receive(operands.expect(own_is_left, 0, data.count), data.count, kReduced, rank);
    schedule.end_round();
    operands.combine();
  }
  if (is_root) {
    operands.end(0, data.count);
  } else {
    schedule.send(operands.value(), data.count, kReduced, fold.rank_of(index ^ distance));
  }
  schedule.end_round();
}

Cost reduce_binomial_cost(int size, double bytes) {
  return reduce_knomial_cost(size, bytes, true, 2);
}

void reduce_halving(Schedule& schedule, Member self, int root, const Reduction& data) {
  const Fold fold(self.size, root);
  if (self.size == 1) {
    if (!data.in_place) schedule.copy(data.input(), data.count, kReduced, kResult, data.count, kReduced);
    schedule.end_round();
    return;
  }
  cut_equally(schedule, fold.workers, data.count);
  const bool works = !fold.is_guest(self.rank);
  const Place result =
      self.rank == root || !works ? kResult : schedule.scratch_elements(data.count, data.type);
  reduce_by_halves(schedule, self, fold, data, result, Halves::kNear);
  if (!works) return;

  const int index = fold.index(self.rank);
  const int way = index ^ fold.index(root);
  const auto begin = [&](int part) { return schedule.boundaries[static_cast<std::size_t>(part)]; };
  for (int parts = 1; parts < fold.workers; parts *= 2) {
    const int distance = fold.workers / 2 / parts;
    const int mine = part_of_worker(fold, index) & -parts;
    const int first = (way & distance) != 0 ? mine : mine ^ parts;
    const Place place = result + begin(first) * data.type.extent;
    const Count count = begin(first + parts) - begin(first);
    if (first == mine) {
      schedule.send(place, count, kReduced, fold.rank_of(index ^ distance));
      break;
    }
    schedule.receive(place, count, kReduced, fold.rank_of(index ^ distance));
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

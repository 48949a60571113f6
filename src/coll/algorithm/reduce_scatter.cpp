// The algorithms of the reduce-scatter: see coll/algorithm/algorithms.hpp.
#include "coll/algorithm/algorithms.hpp"

#include <algorithm>

#include "coll/algorithm/halving.hpp"
#include "coll/algorithm/tree.hpp"

namespace tasuki {
namespace {

Count offset_of(const Blocks& parts, int rank) {
  return parts.elements_before(rank) * parts.type.extent;
}

void copy_part(Schedule& schedule, Place whole, const Blocks& parts, int rank) {
  const Count count = parts.count_of(rank);
  schedule.copy(whole + offset_of(parts, rank), count, kReduced, kResult, count, kReduced);
}

/// Receives the other ranks' contributions to this rank's part as they come and adds each.
void add_as_they_come(Schedule& schedule, Member self, const Reduction& data, const Blocks& parts) {
  const Count count = parts.count_of(self.rank);
  const Place own = data.input() + offset_of(parts, self.rank);
  // In place, the beginning of the receive buffer is still to be sent.
  const Place sum = data.in_place ? schedule.scratch_elements(count, data.type) : kResult;
  const Place room = self.size > 2 ? schedule.scratch_elements(count, data.type) : Place{};
  for (int distance = 1; distance < self.size; ++distance) {
    const int to = neighbour(self, distance);
    const bool first = distance == 1;
    schedule.receive(first ? sum : room, count, kReduced, neighbour(self, -distance));
    schedule.send(data.input() + offset_of(parts, to), parts.count_of(to), kReduced, to);
    schedule.end_round();
    schedule.reduce(first ? own : room, sum, count, kReduced);
  }
  if (!(sum == kResult)) schedule.copy(sum, count, kReduced, kResult, count, kReduced);
}

/// Keeps all contributions and adds them in the order of ranks at the end.
void add_in_order(Schedule& schedule, Member self, const Reduction& data, const Blocks& parts) {
  const Count count = parts.count_of(self.rank);
  const Place own = data.input() + offset_of(parts, self.rank);
  schedule.boundaries.clear();  // here: where each rank's contribution lies in scratch memory
  for (int rank = 0; rank < self.size; ++rank)
    schedule.boundaries.push_back(schedule.scratch_elements(count, data.type).offset);
  const auto contribution = [&](int rank) {
    return Place{Space::kScratch, schedule.boundaries[static_cast<std::size_t>(rank)]};
  };
  schedule.copy(own, count, kReduced, contribution(self.rank), count, kReduced);
  for (int distance = 1; distance < self.size; ++distance) {
    const int to = neighbour(self, distance);
    const int from = neighbour(self, -distance);
    schedule.receive(contribution(from), count, kReduced, from);
    schedule.send(data.input() + offset_of(parts, to), parts.count_of(to), kReduced, to);
    schedule.end_round();
  }
  for (int rank = self.size - 2; rank >= 0; --rank)
    schedule.reduce(contribution(rank), contribution(self.size - 1), count, kReduced);
  schedule.copy(contribution(self.size - 1), count, kReduced, kResult, count, kReduced);
}

}  // namespace

void reduce_scatter_pairwise(Schedule& schedule, Member self, const Reduction& data, const Blocks& parts) {
  if (self.size == 1) {
    if (!data.in_place) copy_part(schedule, data.input(), parts, 0);
  } else if (data.commutative) {
    add_as_they_come(schedule, self, data, parts);
  } else {
    add_in_order(schedule, self, data, parts);
  }
  schedule.end_round();
}

Cost reduce_scatter_pairwise_cost(int size, double bytes) {
  const double others = size - 1;
  return {.steps = others,
          .messages = size * others,
          .bytes = others * bytes / size,
          .total_bytes = others * bytes,
          .reduced_bytes = others * bytes / size,
          .total_reduced_bytes = others * bytes,
          .copied_bytes = bytes / size,
          .in_pairs = true};
}

void reduce_scatter_halving(Schedule& schedule, Member self, const Reduction& data, const Blocks& parts) {
  const Fold fold(self.size, 0);
  if (self.size == 1) return reduce_scatter_pairwise(schedule, self, data, parts);
  schedule.boundaries.clear();
  for (int index = 0; index < fold.workers; ++index)
    schedule.boundaries.push_back(parts.elements_before(fold.vrank_of(index)));
  schedule.boundaries.push_back(data.count);
  if (fold.is_guest(self.rank)) {
    reduce_by_halves(schedule, self, fold, data, kResult);
    schedule.receive(kResult, parts.count_of(self.rank), kReduced, fold.host_of(self.rank));
    schedule.end_round();
    return;
  }
  const Place sum = schedule.scratch_elements(data.count, data.type);
  reduce_by_halves(schedule, self, fold, data, sum);
  if (fold.is_host(self.rank)) {
    const int guest = fold.guest_of(self.rank);
    schedule.send(sum + offset_of(parts, guest), parts.count_of(guest), kReduced, guest);
  }
  copy_part(schedule, sum, parts, self.rank);
  schedule.end_round();
}

Cost reduce_scatter_halving_cost(int size, double bytes) {
  const Fold fold(size, 0);
  Cost cost = reduce_by_halves_cost(size, bytes);
  if (fold.rest == 0) return cost;
  // The hosts come first and keep their guests' parts too: the one with index 0 has the most to do.
  double kept = 0;
  for (int parts_kept = fold.workers / 2; parts_kept >= 1; parts_kept /= 2)
    kept += parts_kept + std::min(parts_kept, fold.rest);
  cost.bytes = cost.reduced_bytes = bytes + kept * bytes / size;
  cost.steps += 1;
  cost.messages += fold.rest;
  cost.total_bytes += fold.rest * bytes / size;
  return cost;
}

Cost reduce_scatter_recursive_doubling_cost(int size, double bytes) {
  Cost cost = allreduce_recursive_doubling_cost(size, bytes);
  cost.copied_bytes += bytes / size;
  return cost;
}

void reduce_scatter_recursive_doubling(Schedule& schedule, Member self, const Reduction& data,
                                       const Blocks& parts) {
  const Place whole = schedule.scratch_elements(data.count, data.type);
  allreduce_recursive_doubling(schedule, self, data, whole);
  copy_part(schedule, whole, parts, self.rank);
  schedule.end_round();
}

}  // namespace tasuki

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

/// Combines the vectors of the ranks [first, end), which lie at `place(rank)`: the result to the last one's.
template <class Places>
void combine_in_order(Schedule& schedule, const Fold& fold, int first, int end, Count count,
                      const Places& place) {
  if (end - first == 1) return;
  const int middle = middle_of_all(fold, first, end);
  combine_in_order(schedule, fold, first, middle, count, place);
  combine_in_order(schedule, fold, middle, end, count, place);
  schedule.reduce(place(middle - 1), place(end - 1), count, kReduced);
}

/// Whether combine_in_order() writes to that rank's vector.
bool is_written(const Fold& fold, int first, int end, int rank) {
  if (end - first == 1) return false;
  const int middle = middle_of_all(fold, first, end);
  return rank == end - 1 || (rank < middle && is_written(fold, first, middle, rank)) ||
         (rank >= middle && is_written(fold, middle, end, rank));
}

/// Keeps all contributions and combines them in the order of coll/algorithm/order.hpp at the end.
void add_in_order(Schedule& schedule, Member self, const Reduction& data, const Blocks& parts) {
  const Fold fold(self.size, 0);
  const int last = self.size - 1;
  const Count count = parts.count_of(self.rank);
  const Place own = data.input() + offset_of(parts, self.rank);
  const bool keeps_own = !is_written(fold, 0, self.size, self.rank);
  schedule.boundaries.clear();  // here: where each rank's contribution lies in scratch memory
  for (int rank = 0; rank < self.size; ++rank) {
    // In place, the beginning of the receive buffer is still to be sent.
    const bool is_elsewhere = (rank == last && !data.in_place) || (rank == self.rank && keeps_own);
    schedule.boundaries.push_back(is_elsewhere ? 0 : schedule.scratch_elements(count, data.type).offset);
  }
  const auto contribution = [&](int rank) {
    if (rank == self.rank && keeps_own) return own;
    if (rank == last && !data.in_place) return kResult;
    return Place{Space::kScratch, schedule.boundaries[static_cast<std::size_t>(rank)]};
  };
  if (!keeps_own) schedule.copy(own, count, kReduced, contribution(self.rank), count, kReduced);
  for (int distance = 1; distance < self.size; ++distance) {
    const int to = neighbour(self, distance);
    const int from = neighbour(self, -distance);
    schedule.receive(contribution(from), count, kReduced, from);
    schedule.send(data.input() + offset_of(parts, to), parts.count_of(to), kReduced, to);
    schedule.end_round();
  }
  combine_in_order(schedule, fold, 0, self.size, count, contribution);
  if (data.in_place) schedule.copy(contribution(last), count, kReduced, kResult, count, kReduced);
}

}  // namespace

void reduce_scatter_pairwise(Schedule& schedule, Member self, const Reduction& data, const Blocks& parts) {
  if (data.repeatable == Repeatable::kExact) {
    reduce_scatter_collect(schedule, self, data, parts);
  } else if (self.size == 1) {
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
  for (int index = 0; index <= fold.workers; ++index)
    schedule.boundaries.push_back(parts.elements_before(fold.first_of(index)));
  const Halves halves = data.commutative ? Halves::kFar : Halves::kNear;
  const int index = fold.index(self.rank);
  // The worker that ends with this one's part has the index by which this one's is called.
  const int other = halves == Halves::kFar ? index : part_of_worker(fold, index);
  const bool works = !fold.is_guest(self.rank);
  const Place sum = works ? schedule.scratch_elements(data.count, data.type) : kResult;
  reduce_by_halves(schedule, self, fold, data, sum, halves);
  for (int rank = fold.first_of(other); works && rank < fold.first_of(other + 1); ++rank) {
    if (rank == self.rank) {
      copy_part(schedule, sum, parts, rank);
    } else {
      schedule.send(sum + offset_of(parts, rank), parts.count_of(rank), kReduced, rank);
    }
  }
  if (fold.rank_of(other) != self.rank)
    schedule.receive(kResult, parts.count_of(self.rank), kReduced, fold.rank_of(other));
  schedule.end_round();
}

Cost reduce_scatter_halving_cost(int size, double bytes, bool commutative) {
  const Fold fold(size, 0);
  Cost cost = reduce_by_halves_cost(size, bytes);
  if (fold.rest > 0) {
    // The hosts come first and keep their guests' parts too: the one with index 0 has the most to do.
    double kept = 0;
    for (int parts_kept = fold.workers / 2; parts_kept >= 1; parts_kept /= 2)
      kept += parts_kept + std::min(parts_kept, fold.rest);
    cost.bytes = cost.reduced_bytes = bytes + kept * bytes / size;
    cost.steps += 1;
    cost.messages += fold.rest;
    cost.total_bytes += fold.rest * bytes / size;
  }
  if (!commutative && fold.workers > 2) {  // parts change hands
    cost.steps += 1;
    cost.messages += fold.workers;
    cost.bytes += 2 * bytes / size;
    cost.total_bytes += bytes;
  }
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

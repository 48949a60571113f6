// The algorithms of the allgather: see coll/algorithm/algorithms.hpp.
#include "coll/algorithm/algorithms.hpp"

#include <algorithm>

#include "coll/algorithm/tree.hpp"

namespace tasuki {

void allgather_recursive_doubling(Schedule& schedule, Member self, const Elements& mine, const Blocks& all) {
  place_own_block(schedule, self, mine, all);
  for (int distance = 1; distance < self.size; distance *= 2) {
    const int partner = self.rank ^ distance;
    const int mine_from = self.rank & -distance;
    const int partner_from = partner & -distance;
    schedule.receive(all.place_of(partner_from), distance * all.count, all.element, partner);
    schedule.send(all.place_of(mine_from), distance * all.count, all.element, partner);
    schedule.end_round();
  }
  schedule.end_round();
}

Cost allgather_recursive_doubling_cost(int size, double total_bytes) {
  const double steps = ceil_log2(size);
  return {.steps = steps,
          .messages = size * steps,
          .bytes = total_bytes * (size - 1) / size,
          .total_bytes = total_bytes * (size - 1),
          .copied_bytes = total_bytes / size,
          .in_pairs = true};
}

void allgather_bruck(Schedule& schedule, Member self, const Elements& mine, const Blocks& all) {
  const auto owner = [&](int index) { return (self.rank + index) % self.size; };
  const auto offset = [&](int index) {  // of the index'th block in scratch memory
    if (all.uniform()) return index * all.count * all.type.size;
    Count bytes = 0;
    for (int before = 0; before < index; ++before) bytes += all.bytes_of(owner(before));
    return bytes;
  };
  const Place own = all.place_of(self.rank);
  const Count own_count = all.count_of(self.rank);
  const Place held = schedule.scratch(offset(self.size));
  if (mine.in_place) {
    schedule.copy(own, own_count, all.element, held, offset(1), ElementType::kBytes);
  } else {
    schedule.copy(mine.place(), mine.count, mine.element, held, offset(1), ElementType::kBytes);
    place_own_block(schedule, self, mine, all);
  }
  for (int distance = 1; distance < self.size; distance *= 2) {
    const int blocks = std::min(distance, self.size - distance);
    schedule.receive(held + offset(distance), offset(distance + blocks) - offset(distance),
                     ElementType::kBytes, owner(distance));
    schedule.send(held, offset(blocks), ElementType::kBytes, neighbour(self, -distance));
    schedule.end_round();
  }
  // Runs of blocks that lie together in both places go in one copy.
  const auto unpack = [&](int index, int blocks) {
    const Count count = all.uniform() ? blocks * all.count : all.count_of(owner(index));
    schedule.copy(held + offset(index), offset(index + blocks) - offset(index), ElementType::kBytes,
                  all.place_of(owner(index)), count, all.element);
  };
  if (all.uniform()) {
    const int until_wrap = self.size - self.rank;
    if (until_wrap > 1) unpack(1, until_wrap - 1);
    if (self.rank > 0) unpack(until_wrap, self.rank);
  } else {
    for (int index = 1; index < self.size; ++index) unpack(index, 1);
  }
  schedule.end_round();
}

Cost allgather_bruck_cost(int size, double total_bytes) {
  Cost cost = allgather_recursive_doubling_cost(size, total_bytes);
  cost.in_pairs = false;
  cost.copied_bytes += total_bytes;  // from scratch memory to its place
  return cost;
}

void allgather_ring(Schedule& schedule, Member self, const Elements& mine, const Blocks& all) {
  place_own_block(schedule, self, mine, all);
  const int right = neighbour(self, 1);
  const int left = neighbour(self, -1);
  for (int round = 0; round < self.size - 1; ++round) {
    const int out = (self.rank - round + self.size) % self.size;
    const int in = (self.rank - round - 1 + self.size) % self.size;
    schedule.receive(all.place_of(in), all.count_of(in), all.element, left);
    schedule.send(all.place_of(out), all.count_of(out), all.element, right);
    schedule.end_round();
  }
  schedule.end_round();
}

Cost allgather_ring_cost(int size, double total_bytes) {
  const double others = size - 1;
  return {.steps = others,
          .messages = size * others,
          .bytes = total_bytes * others / size,
          .total_bytes = total_bytes * others,
          .copied_bytes = total_bytes / size};
}

}  // namespace tasuki

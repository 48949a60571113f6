// The algorithms of the scans: see coll/algorithm/algorithms.hpp.
#include "coll/algorithm/algorithms.hpp"

namespace tasuki {
namespace {

/// The result buffers of the ranks from `first` on hold one vector each; afterwards each holds the sum over
/// those from `first` to its own. After the round with distance d a rank has the sum of the last 2 d vectors.
void scan_from(Schedule& schedule, Member self, int first, const Reduction& data, Place room) {
  for (int distance = 1; distance < self.size - first; distance *= 2) {
    const bool receives = self.rank - distance >= first;
    if (receives) schedule.receive(room, data.count, kReduced, self.rank - distance);
    if (self.rank + distance < self.size) schedule.send(kResult, data.count, kReduced, self.rank + distance);
    schedule.end_round();
    if (receives) schedule.reduce(room, kResult, data.count, kReduced);
  }
  schedule.end_round();
}

}  // namespace

void scan_recursive_doubling(Schedule& schedule, Member self, const Reduction& data) {
  if (!data.in_place) schedule.copy(data.input(), data.count, kReduced, kResult, data.count, kReduced);
  const Place room = self.rank > 0 ? schedule.scratch_elements(data.count, data.type) : Place{};
  scan_from(schedule, self, 0, data, room);
}

Cost scan_recursive_doubling_cost(int size, double bytes) {
  const double rounds = ceil_log2(size);
  double messages = 0;
  for (int distance = 1; distance < size; distance *= 2) messages += size - distance;
  return {.steps = rounds,
          .messages = messages,
          .bytes = rounds * bytes,
          .total_bytes = messages * bytes,
          .reduced_bytes = rounds * bytes,
          .total_reduced_bytes = messages * bytes,
          .copied_bytes = bytes,
          .levels = rounds,
          .one_way = true};
}

void exscan_recursive_doubling(Schedule& schedule, Member self, const Reduction& data) {
  const bool last = self.rank == self.size - 1;
  const Place room = self.rank > 0 ? schedule.scratch_elements(data.count, data.type) : Place{};
  Place own = data.input();
  if (data.in_place && self.rank > 0 && !last) {  // the receive buffer is about to be overwritten
    schedule.copy(own, data.count, kReduced, room, data.count, kReduced);
    own = room;
  }
  if (self.rank > 0) schedule.receive(kResult, data.count, kReduced, self.rank - 1);
  if (!last) schedule.send(own, data.count, kReduced, self.rank + 1);
  schedule.end_round();
  if (self.rank > 0) scan_from(schedule, self, 1, data, room);
}

Cost exscan_recursive_doubling_cost(int size, double bytes) {
  if (size == 1) return {};
  Cost cost = scan_recursive_doubling_cost(size - 1, bytes);
  cost.steps += 1;
  cost.messages += size - 1;
  cost.bytes += bytes;
  cost.total_bytes += (size - 1) * bytes;
  cost.copied_bytes += bytes;
  return cost;
}

}  // namespace tasuki

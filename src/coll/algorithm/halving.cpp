// Reducing by halves: see coll/algorithm/halving.hpp.
#include "coll/algorithm/halving.hpp"

#include <algorithm>

namespace tasuki {

void cut_equally(Schedule& schedule, int parts, Count count) {
  schedule.boundaries.clear();
  for (int part = 0; part <= parts; ++part)
    schedule.boundaries.push_back(count / parts * part + std::min<Count>(part, count % parts));
}

void reduce_by_halves(Schedule& schedule, Member self, const Fold& fold, const Reduction& data,
                      Place result) {
  if (fold.is_guest(self.rank)) {
    schedule.send(data.input(), data.count, kReduced, fold.host_of(self.rank));
    schedule.end_round();
    return;
  }
  const Count extent = data.type.extent;
  Place value = data.input();  // where the partial result lies: the input until the first reduction
  bool have_room = false;
  Place room;
  // What comes goes straight into the result while the value is elsewhere, and into a room beside it after
  // that. The first that needs the room needs the most.
  const auto receive_and_send = [&](Count first, Count count, int from, Count out_first, Count out_count) {
    if (value == result && !have_room) {
      room = schedule.scratch_elements(count, data.type);
      have_room = true;
    }
    const Place target = value == result ? room : result + first * extent;
    schedule.receive(target, count, kReduced, from);
    if (out_count >= 0) schedule.send(value + out_first * extent, out_count, kReduced, from);
    schedule.end_round();
    const Place other = value == result ? room : value + first * extent;
    schedule.reduce(other, result + first * extent, count, kReduced);
    value = result;
  };

  if (fold.is_host(self.rank)) receive_and_send(0, data.count, fold.guest_of(self.rank), 0, -1);
  const int index = fold.index(self.rank);
  const auto begin = [&](int part) { return schedule.boundaries[static_cast<std::size_t>(part)]; };
  for (int parts = fold.workers / 2; parts >= 1; parts /= 2) {
    const int kept = index & -parts;
    const int given = kept ^ parts;
    receive_and_send(begin(kept), begin(kept + parts) - begin(kept), fold.rank_of(index ^ parts),
                     begin(given), begin(given + parts) - begin(given));
  }
}

Cost reduce_by_halves_cost(int size, double bytes) {
  const Fold fold(size, 0);
  const double halves = bytes * (fold.workers - 1) / fold.workers;
  const double folded = fold.rest > 0 ? bytes : 0;
  return {.steps = ceil_log2(fold.workers) + (fold.rest > 0 ? 1.0 : 0.0),
          .messages = static_cast<double>(fold.workers * ceil_log2(fold.workers) + fold.rest),
          .bytes = halves + folded,
          .total_bytes = halves * fold.workers + fold.rest * bytes,
          .reduced_bytes = halves + folded,
          .total_reduced_bytes = halves * fold.workers + fold.rest * bytes,
          .copied_bytes = bytes,
          .in_pairs = true};
}

}  // namespace tasuki

// Reducing by halves: see coll/algorithm/halving.hpp.
#include "coll/algorithm/halving.hpp"

#include <algorithm>

namespace tasuki {

void cut_equally(Schedule& schedule, int parts, Count count) {
  schedule.boundaries.clear();
  for (int part = 0; part <= parts; ++part)
    schedule.boundaries.push_back(count / parts * part + std::min<Count>(part, count % parts));
}

int part_of_worker(const Fold& fold, int index) {
  int part = 0;
  for (int bit = 1; bit < fold.workers; bit *= 2) part = 2 * part + ((index & bit) != 0 ? 1 : 0);
  return part;
}

void reduce_by_halves(Schedule& schedule, Member self, const Fold& fold, const Reduction& data, Place result,
                      Halves halves) {
  const int partner = Fold::partner(self.rank);
  if (fold.is_guest(self.rank)) {
    schedule.send(data.input(), data.count, kReduced, partner);
    schedule.end_round();
    return;
  }
  Operands operands(schedule, data, result);
  if (fold.is_host(self.rank)) {
    const Place guests = operands.expect(Fold::is_left(self.rank), 0, data.count);
    schedule.receive(guests, data.count, kReduced, partner);
    schedule.end_round();
    operands.combine();
  }
  const int index = fold.index(self.rank);
  const auto begin = [&](int part) { return schedule.boundaries[static_cast<std::size_t>(part)]; };
  int first = 0;  // of the parts that are left
  for (int parts = fold.workers / 2; parts >= 1; parts /= 2) {
    const int distance = halves == Halves::kNear ? fold.workers / 2 / parts : parts;
    const bool is_lower = (index & distance) == 0;
    const int kept = is_lower ? first : first + parts;
    const int given = is_lower ? first + parts : first;
    const Count count = begin(kept + parts) - begin(kept);
    const Place out = operands.value() + begin(given) * data.type.extent;
    schedule.receive(operands.expect(is_lower, begin(kept), count), count, kReduced,
                     fold.rank_of(index ^ distance));
    schedule.send(out, begin(given + parts) - begin(given), kReduced, fold.rank_of(index ^ distance));
    schedule.end_round();
    operands.combine();
    first = kept;
  }
  operands.end(begin(first), begin(first + 1) - begin(first));
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

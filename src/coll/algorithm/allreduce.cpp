// The algorithms of the allreduce: see coll/algorithm/algorithms.hpp.
#include "coll/algorithm/algorithms.hpp"

#include <bit>
#include <utility>

#include "coll/algorithm/halving.hpp"
#include "coll/algorithm/tree.hpp"

namespace tasuki {
namespace {

void copy_input(Schedule& schedule, const Reduction& data, Place to) {
  if (data.input() == to) return;
  schedule.copy(data.input(), data.count, kReduced, to, data.count, kReduced);
}

/// What a guest has to do after it handed its vector over: get the result.
void receive_result(Schedule& schedule, const Reduction& data, Place result, int host) {
  schedule.receive(result, data.count, kReduced, host);
  schedule.end_round();
}

}  // namespace

void allreduce_recursive_doubling(Schedule& schedule, Member self, const Reduction& data, Place result) {
  const Fold fold(self.size, 0);
  const int pair_partner = Fold::partner(self.rank);
  if (fold.is_guest(self.rank)) {
    schedule.send(data.input(), data.count, kReduced, pair_partner);
    schedule.end_round();
    return receive_result(schedule, data, result, pair_partner);
  }
  const bool is_host = fold.is_host(self.rank);
  const int index = fold.index(self.rank);
  // The lower ranks' sum is always the left operand: so the order is kept, and all ranks get the same bits.
  // Where this rank's sum is the left one, the new sum takes the other's place; that happens `moves` times.
  const int moves = (is_host ? 1 : 0) + std::popcount(static_cast<unsigned>(~index & (fold.workers - 1)));
  Place value = result;
  Place other = self.size > 1 ? schedule.scratch_elements(data.count, data.type) : result;
  if (moves % 2 == 1) std::swap(value, other);
  copy_input(schedule, data, value);
  const auto combine_as_left = [&] {
    schedule.reduce(value, other, data.count, kReduced);
    std::swap(value, other);
  };
  if (is_host) {
    schedule.receive(other, data.count, kReduced, pair_partner);
    schedule.end_round();
    combine_as_left();
  }
  for (int distance = 1; distance < fold.workers; distance *= 2) {
    const int partner = fold.rank_of(index ^ distance);
    schedule.receive(other, data.count, kReduced, partner);
    schedule.send(value, data.count, kReduced, partner);
    schedule.end_round();
    if ((index & distance) == 0) {
      combine_as_left();
    } else {
      schedule.reduce(other, value, data.count, kReduced);
    }
  }
  if (is_host) schedule.send(result, data.count, kReduced, pair_partner);
  schedule.end_round();
}

Cost allreduce_recursive_doubling_cost(int size, double bytes) {
  const Fold fold(size, 0);
  const double rounds = ceil_log2(fold.workers);
  const double folded = fold.rest > 0 ? 1 : 0;
  const double messages = rounds * fold.workers + 2.0 * fold.rest;
  return {.steps = rounds + 2 * folded,
          .messages = messages,
          .bytes = (rounds + folded) * bytes,
          .total_bytes = messages * bytes,
          .reduced_bytes = (rounds + folded) * bytes,
          .total_reduced_bytes = (messages - fold.rest) * bytes,
          .copied_bytes = bytes,
          .in_pairs = true};
}

void allreduce_halving_doubling(Schedule& schedule, Member self, const Reduction& data) {
  const Fold fold(self.size, 0);
  if (self.size == 1) {
    copy_input(schedule, data, kResult);
    schedule.end_round();
    return;
  }
  cut_equally(schedule, fold.workers, data.count);
  reduce_by_halves(schedule, self, fold, data, kResult, Halves::kNear);
  const int pair_partner = Fold::partner(self.rank);
  if (fold.is_guest(self.rank)) return receive_result(schedule, data, kResult, pair_partner);

  const int index = fold.index(self.rank);
  const auto place = [&](int part) {
    return kResult + schedule.boundaries[static_cast<std::size_t>(part)] * data.type.extent;
  };
  const auto count = [&](int part, int parts) {
    return schedule.boundaries[static_cast<std::size_t>(part + parts)] -
           schedule.boundaries[static_cast<std::size_t>(part)];
  };
  for (int parts = 1; parts < fold.workers; parts *= 2) {
    const int mine = part_of_worker(fold, index) & -parts;
    const int theirs = mine ^ parts;
    const int partner = fold.rank_of(index ^ fold.workers / 2 / parts);
    schedule.receive(place(theirs), count(theirs, parts), kReduced, partner);
    schedule.send(place(mine), count(mine, parts), kReduced, partner);
    schedule.end_round();
  }
  if (fold.is_host(self.rank)) schedule.send(kResult, data.count, kReduced, pair_partner);
  schedule.end_round();
}

Cost allreduce_halving_doubling_cost(int size, double bytes) {
  const Fold fold(size, 0);
  Cost cost = reduce_by_halves_cost(size, bytes);
  cost.steps += ceil_log2(fold.workers) + (fold.rest > 0 ? 1 : 0);
  cost.messages += fold.workers * ceil_log2(fold.workers) + fold.rest;
  cost.bytes += bytes * (fold.workers - 1) / fold.workers;
  cost.total_bytes += bytes * (fold.workers - 1) + fold.rest * bytes;
  return cost;
}

void allreduce_ring(Schedule& schedule, Member self, const Reduction& data) {
  if (self.size == 1) copy_input(schedule, data, kResult);
  cut_equally(schedule, self.size, data.count);
  const auto begin = [&](int part) { return schedule.boundaries[static_cast<std::size_t>(part)]; };
  const auto count = [&](int part) { return begin(part + 1) - begin(part); };
  const auto offset = [&](int part) { return begin(part) * data.type.extent; };
  const int right = neighbour(self, 1);
  const int left = neighbour(self, -1);
  const Place room =
      data.in_place && self.size > 1 ? schedule.scratch_elements(count(0), data.type) : kResult;
  // Part p starts at rank p and comes to this rank as the sum over those before it.
  for (int round = 0; round < self.size - 1; ++round) {
    const int out = (self.rank - round + self.size) % self.size;
    const int in = (self.rank - round - 1 + self.size) % self.size;
    const Place target = data.in_place ? room : kResult + offset(in);
    schedule.receive(target, count(in), kReduced, left);
    schedule.send((round == 0 ? data.input() : kResult) + offset(out), count(out), kReduced, right);
    schedule.end_round();
    schedule.reduce(data.in_place ? room : data.input() + offset(in), kResult + offset(in), count(in),
                    kReduced);
  }
  // Part rank + 1 is complete here; the complete parts go around once more.
  for (int round = 0; round < self.size - 1; ++round) {
    const int out = (self.rank + 1 - round + self.size) % self.size;
    const int in = (self.rank - round + self.size) % self.size;
    schedule.receive(kResult + offset(in), count(in), kReduced, left);
    schedule.send(kResult + offset(out), count(out), kReduced, right);
    schedule.end_round();
  }
  schedule.end_round();
}

Cost allreduce_ring_cost(int size, double bytes) {
  const double others = size - 1;
  return {.steps = 2 * others,
          .messages = 2 * others * size,
          .bytes = 2 * others * bytes / size,
          .total_bytes = 2 * others * bytes,
          .reduced_bytes = others * bytes / size,
          .total_reduced_bytes = others * bytes};
}

}  // namespace tasuki

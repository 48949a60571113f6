// The algorithms of exact reductions: see coll/algorithm/algorithms.hpp.
#include "coll/algorithm/algorithms.hpp"

#include <algorithm>

#include "coll/algorithm/halving.hpp"
#include "coll/algorithm/tree.hpp"

namespace tasuki {
namespace {

constexpr Count kWindowBytes = 256 * 1024;  // how much of an exchange a round has at least

/// Some elements of the vector.
struct Slice {
  Count first, count;
};

/// Every rank gets its slice, `slice_of(rank)`, of all vectors. Returns where they lie, one after the other;
/// the rounds are over.
template <class SliceOf>
Place exchange_slices(Schedule& schedule, Member self, const Reduction& data, const SliceOf& slice_of) {
  const Count size = data.type.size;
  const Slice own = slice_of(self.rank);
  const Place vectors = schedule.scratch(self.size * own.count * size);
  Place place = vectors;
  schedule.copy(data.input() + own.first * size, own.count, kReduced, place, own.count, kReduced);
  Count under_way_bytes = 0;
  for (int distance = 1; distance < self.size; ++distance) {
    const int to = neighbour(self, distance);
    const Slice theirs = slice_of(to);
    place = place + own.count * size;
    if (own.count > 0) schedule.receive(place, own.count, kReduced, neighbour(self, -distance));
    if (theirs.count > 0) schedule.send(data.input() + theirs.first * size, theirs.count, kReduced, to);
    under_way_bytes += (own.count + theirs.count) * size;
    if (under_way_bytes < kWindowBytes) continue;
    schedule.end_round();
    under_way_bytes = 0;
  }
  schedule.end_round();
  return vectors;
}

/// Equal slices; schedule.boundaries has them.
auto cut_in_slices(Schedule& schedule, Member self, const Reduction& data) {
  cut_equally(schedule, self.size, data.count);
  return [&schedule](int rank) {
    const auto begin = [&](int slice) { return schedule.boundaries[static_cast<std::size_t>(slice)]; };
    return Slice{begin(rank), begin(rank + 1) - begin(rank)};
  };
}

Cost exchange_slices_cost(int size, double bytes) {
  const double others = size - 1;
  return {.steps = others,
          .messages = size * others,
          .bytes = others * bytes / size,
          .total_bytes = others * bytes,
          .reduced_bytes = bytes,
          .total_reduced_bytes = size * bytes,
          .copied_bytes = bytes / size,
          .in_pairs = true};
}

}  // namespace

void allreduce_collect(Schedule& schedule, Member self, const Reduction& data, Place result) {
  const Count bytes = data.count * data.type.size;
  const Place vectors = schedule.scratch(self.size * bytes);  // in the order of the ranks from this one on
  schedule.copy(data.input(), data.count, kReduced, vectors, data.count, kReduced);
  for (int distance = 1; distance < self.size; distance *= 2) {
    const Count count = std::min(distance, self.size - distance) * data.count;
    schedule.receive(vectors + distance * bytes, count, kReduced, neighbour(self, distance));
    schedule.send(vectors, count, kReduced, neighbour(self, -distance));
    schedule.end_round();
  }
  schedule.sum(vectors, self.size, result, data.count, kReduced);
  schedule.end_round();
}

Cost allreduce_collect_cost(int size, double bytes) {
  const double others = size - 1;
  const double steps = ceil_log2(size);
  return {.steps = steps,
          .messages = size * steps,
          .bytes = others * bytes,
          .total_bytes = size * others * bytes,
          .reduced_bytes = size * bytes,
          .total_reduced_bytes = size * size * bytes,
          .copied_bytes = bytes};
}

void allreduce_collect_slices(Schedule& schedule, Member self, const Reduction& data) {
  const auto slice_of = cut_in_slices(schedule, self, data);
  const Place vectors = exchange_slices(schedule, self, data, slice_of);
  const auto place_of = [&](int rank) { return kResult + slice_of(rank).first * data.type.size; };
  const Count own = slice_of(self.rank).count;
  schedule.sum(vectors, self.size, place_of(self.rank), own, kReduced);
  for (int distance = 1; distance < self.size; ++distance) {
    const int to = neighbour(self, distance), from = neighbour(self, -distance);
    const Count theirs = slice_of(from).count;
    if (theirs > 0) schedule.receive(place_of(from), theirs, kReduced, from);
    if (own > 0) schedule.send(place_of(self.rank), own, kReduced, to);
  }
  schedule.end_round();
}

Cost allreduce_collect_slices_cost(int size, double bytes) {
  Cost cost = exchange_slices_cost(size, bytes);
  cost.steps *= 2;
  cost.messages *= 2;
  cost.bytes *= 2;
  cost.total_bytes *= 2;
  return cost;
}

void reduce_collect(Schedule& schedule, Member self, int root, const Reduction& data) {
  if (self.rank != root) {
    schedule.send(data.input(), data.count, kReduced, root);
    schedule.end_round();
    return;
  }
  const Count bytes = data.count * data.type.size;
  const Place vectors = schedule.scratch(self.size * bytes);
  schedule.copy(data.input(), data.count, kReduced, vectors, data.count, kReduced);
  for (int distance = 1; distance < self.size; ++distance)
    schedule.receive(vectors + distance * bytes, data.count, kReduced, neighbour(self, distance));
  schedule.end_round();
  schedule.sum(vectors, self.size, kResult, data.count, kReduced);
  schedule.end_round();
}

Cost reduce_collect_cost(int size, double bytes) {
  Cost cost = gather_linear_cost(size, bytes);
  cost.reduced_bytes = cost.total_reduced_bytes = size * bytes;
  return cost;
}

void reduce_collect_slices(Schedule& schedule, Member self, int root, const Reduction& data) {
  const auto slice_of = cut_in_slices(schedule, self, data);
  const Place vectors = exchange_slices(schedule, self, data, slice_of);
  const auto place_of = [&](int rank) { return kResult + slice_of(rank).first * data.type.size; };
  const Count own = slice_of(self.rank).count;
  if (self.rank != root) {
    const Place sum = schedule.scratch(own * data.type.size);
    schedule.sum(vectors, self.size, sum, own, kReduced);
    if (own > 0) schedule.send(sum, own, kReduced, root);
  } else {
    schedule.sum(vectors, self.size, place_of(root), own, kReduced);
    for (int distance = 1; distance < self.size; ++distance) {
      const int from = neighbour(self, distance);
      const Count theirs = slice_of(from).count;
      if (theirs > 0) schedule.receive(place_of(from), theirs, kReduced, from);
    }
  }
  schedule.end_round();
}

Cost reduce_collect_slices_cost(int size, double bytes) {
  Cost cost = exchange_slices_cost(size, bytes);
  const double others = size - 1;
  cost.steps += others;
  cost.messages += others;
  cost.bytes *= 2;
  cost.total_bytes += others * bytes / size;
  return cost;
}

void reduce_scatter_collect(Schedule& schedule, Member self, const Reduction& data, const Blocks& parts) {
  const Place vectors = exchange_slices(schedule, self, data, [&](int rank) {
    return Slice{parts.elements_before(rank), parts.count_of(rank)};
  });
  schedule.sum(vectors, self.size, kResult, parts.count_of(self.rank), kReduced);
  schedule.end_round();
}

void scan_collect(Schedule& schedule, Member self, const Reduction& data, bool inclusive) {
  const Count bytes = data.count * data.type.size;
  const int vectors = self.rank + (inclusive ? 1 : 0);
  const Place first = schedule.scratch(vectors * bytes);
  for (int rank = 0; rank < self.rank; ++rank)
    schedule.receive(first + rank * bytes, data.count, kReduced, rank);
  for (int rank = self.rank + 1; rank < self.size; ++rank)
    schedule.send(data.input(), data.count, kReduced, rank);
  if (inclusive)
    schedule.copy(data.input(), data.count, kReduced, first + self.rank * bytes, data.count, kReduced);
  schedule.end_round();
  if (vectors > 0) schedule.sum(first, vectors, kResult, data.count, kReduced);
  schedule.end_round();
}

Cost scan_collect_cost(int size, double bytes) {
  const double others = size - 1;
  return {.steps = others,
          .messages = size * others / 2,
          .bytes = others * bytes,
          .total_bytes = size * others / 2 * bytes,
          .reduced_bytes = size * bytes,
          .total_reduced_bytes = size * (size + 1) / 2.0 * bytes,
          .copied_bytes = bytes,
          .one_way = true};
}

}  // namespace tasuki

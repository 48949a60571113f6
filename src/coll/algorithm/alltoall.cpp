// The algorithms of MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw (MPI 6.8); the calls are in
// alltoall_calls.cpp.
#include <algorithm>

#include "coll/algorithm/algorithms.hpp"
#include "coll/algorithm/tree.hpp"

namespace tasuki {

void alltoall_pairwise(Schedule& schedule, Member self, const Blocks& out, const Blocks& in,
                       Count window_bytes) {
  schedule.copy(out.place_of(self.rank), out.count_of(self.rank), out.element, in.place_of(self.rank),
                in.count_of(self.rank), in.element, self.rank);
  Count under_way_bytes = 0;
  for (int distance = 1; distance < self.size; ++distance) {
    const int from = neighbour(self, -distance);
    const int to = neighbour(self, distance);
    const Count in_bytes = in.bytes_of(from);
    const Count out_bytes = out.bytes_of(to);
    if (in_bytes > 0) schedule.receive(in.place_of(from), in.count_of(from), in.element, from);
    if (out_bytes > 0) schedule.send(out.place_of(to), out.count_of(to), out.element, to);
    under_way_bytes += in_bytes + out_bytes;
    if (under_way_bytes < window_bytes || distance + 1 == self.size) continue;
    schedule.end_round();
    // No step needs another one's data: what takes long, as between nodes, keeps nothing else waiting.
    schedule.follows_data = true;
    under_way_bytes = 0;
  }
  schedule.end_round();
}

Cost alltoall_pairwise_cost(int size, double block_bytes) {
  const double others = size - 1;
  return {.steps = others,
          .messages = size * others,
          .bytes = others * block_bytes,
          .total_bytes = size * others * block_bytes,
          .copied_bytes = block_bytes,
          .in_pairs = true,
          .unordered = true};
}

namespace {

/// Calls `exchange(partner, offset)` for all ranks that this rank exchanges a block with, and
/// `end_round(bytes)` after those of a round: a copy of each block has room at its offset in these bytes.
/// Two ranks meet in any order of rounds: theirs is that of the sum of their numbers.
template <class Exchange, class End>
void for_exchanges(Member self, const Blocks& all, Count window_bytes, Exchange&& exchange, End&& end_round) {
  Count held_bytes = 0, under_way_bytes = 0;
  for (int turn = 0; turn < self.size; ++turn) {
    const int partner = (turn - self.rank + self.size) % self.size;
    const Count bytes = all.bytes_of(partner);
    if (partner == self.rank || bytes == 0) continue;
    exchange(partner, held_bytes);
    held_bytes += bytes;
    under_way_bytes += 2 * bytes;
    if (under_way_bytes < window_bytes) continue;
    end_round(held_bytes);
    held_bytes = under_way_bytes = 0;
  }
  end_round(held_bytes);
}

}  // namespace

void alltoall_exchange(Schedule& schedule, Member self, const Blocks& all, Count window_bytes) {
  Count held_bytes = 0;
  for_exchanges(
      self, all, window_bytes, [](int, Count) {},
      [&](Count bytes) { held_bytes = std::max(held_bytes, bytes); });
  const Place held = schedule.scratch(held_bytes);
  for_exchanges(
      self, all, window_bytes,
      [&](int partner, Count offset) {
        const Count bytes = all.bytes_of(partner);
        schedule.copy(all.place_of(partner), all.count_of(partner), all.element, held + offset, bytes,
                      ElementType::kBytes, partner);
        schedule.receive(all.place_of(partner), all.count_of(partner), all.element, partner);
        schedule.send(held + offset, bytes, ElementType::kBytes, partner);
      },
      [&](Count) { schedule.end_round(); });
}

Cost alltoall_exchange_cost(int size, double block_bytes, Count window_bytes) {
  Cost cost = alltoall_pairwise_cost(size, block_bytes);
  const bool one_round = 2 * (cost.bytes - block_bytes) < static_cast<double>(window_bytes);
  if (size > 2 && !one_round) cost.steps = size;
  cost.unordered = one_round;
  cost.copied_bytes = cost.bytes;
  return cost;
}

namespace {

/// Calls `run(first, blocks)` for each run of the block numbers below `size` that have the bit `bit`.
template <class Run>
void for_runs_with_bit(int size, int bit, Run&& run) {
  for (int first = bit; first < size; first += 2 * bit) run(first, std::min(bit, size - first));
}

}  // namespace

void alltoall_bruck(Schedule& schedule, Member self, const Blocks& out, const Blocks& in) {
  const Count block = in.bytes_of(0);
  const Place held = schedule.scratch(self.size * block);  // block i: for the rank i after this one
  const Place leaving = schedule.scratch((self.size + 1) / 2 * block);
  const Place coming = schedule.scratch((self.size + 1) / 2 * block);
  const int until_wrap = self.size - self.rank;
  schedule.copy(out.place_of(self.rank), until_wrap * out.count, out.element, held, until_wrap * block,
                ElementType::kBytes);
  schedule.copy(out.place_of(0), self.rank * out.count, out.element, held + until_wrap * block,
                self.rank * block, ElementType::kBytes);
  for (int bit = 1; bit < self.size; bit *= 2) {
    Count bytes = 0;
    for_runs_with_bit(self.size, bit, [&](int first, int blocks) {
      schedule.copy(held + first * block, blocks * block, ElementType::kBytes, leaving + bytes,
                    blocks * block, ElementType::kBytes);
      bytes += blocks * block;
    });
    schedule.receive(coming, bytes, ElementType::kBytes, neighbour(self, -bit));
    schedule.send(leaving, bytes, ElementType::kBytes, neighbour(self, bit));
    schedule.end_round();
    bytes = 0;
    for_runs_with_bit(self.size, bit, [&](int first, int blocks) {
      schedule.copy(coming + bytes, blocks * block, ElementType::kBytes, held + first * block, blocks * block,
                    ElementType::kBytes);
      bytes += blocks * block;
    });
  }
  // Block i has now come from the rank i before this one.
  for (int distance = 0; distance < self.size; ++distance) {
    schedule.copy(held + distance * block, block, ElementType::kBytes,
                  in.place_of(neighbour(self, -distance)), in.count, in.element);
  }
  schedule.end_round();
}

Cost alltoall_bruck_cost(int size, double block_bytes) {
  int blocks_sent = 0;
  for (int bit = 1; bit < size; bit *= 2) {
    for_runs_with_bit(size, bit, [&](int, int blocks) { blocks_sent += blocks; });
  }
  const double steps = ceil_log2(size);
  return {.steps = steps,
          .messages = size * steps,
          .bytes = blocks_sent * block_bytes,
          .total_bytes = size * blocks_sent * block_bytes,
          .copied_bytes = 2.0 * (size + blocks_sent) * block_bytes};
}

}  // namespace tasuki

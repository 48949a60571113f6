// Reductions in the buffers of ranks that share memory: see coll/shm/single_copy.hpp.
//
// A slice is reduced in pieces that stay in the cache, from the highest rank's input to the lowest one's, or,
// where it is to be repeatable, in the order of coll/algorithm/order.hpp or exactly. Where the call is in
// place, an input and an output are the same memory; so a piece of an output is written only after that piece
// of the same rank's input has been read, and no rank but the slice's touches either of them.
#include <algorithm>
#include <utility>
#include <vector>

#include "coll/algorithm/order.hpp"
#include "coll/algorithm/tree.hpp"
#include "coll/shm/single_copy.hpp"

namespace tasuki {
namespace {

constexpr int kSliceIsReduced = 2;

Count piece_of(const Reduction& data) {
  return std::max<Count>(1, kPieceBytes / std::max<Count>(1, data.type.size));
}

ExposedBuffer exposed_input(const Reduction& data) {
  return {.place = data.input(), .count = data.count, .type = kReduced, .use = ExposedBuffer::Use::kRead};
}
ExposedBuffer exposed_output(Count count, ExposedBuffer::Use use) {
  return {.place = {Space::kReceive, 0}, .count = count, .type = kReduced, .use = use};
}

/// Offers, and waits for everyone's offers.
void begin(Schedule& schedule, const Reduction& data) {
  schedule.make_rooms(std::min(piece_of(data), data.count), data.type);
  schedule.offer();
  schedule.await_everyone(kOffered);
  schedule.end_round();
}

/// This rank does not touch the others' exposed buffers any more; lets go of its own when all say so.
void finish(Schedule& schedule, int phase) {
  schedule.signal(phase);
  schedule.await_everyone(phase);
  schedule.end_round();
  schedule.accept();
  schedule.end_round();
}

/// Scratch memory for a piece, the same for all pieces of a group.
Place piece_room(Schedule& schedule, const Reduction& data) {
  const Count bytes = std::min(piece_of(data), data.count) * data.type.size;
  return {Space::kPiece, schedule.scratch(bytes).offset};
}

/// Combines inputs' elements from `offset` on.
class InputTree {
 public:
  InputTree(Schedule& schedule, Member self, const Reduction& data, Count offset, Count count)
      : schedule_(schedule), fold_(self.size, 0), data_(data), offset_(offset), count_(count) {}

  /// What the ranks [first, end), at least two, have goes to `to`. The rooms from `room` on are free.
  Place combine(int first, int end, Place to, std::size_t room) {
    const int middle = middle_of_all(fold_, first, end);
    const Place left = combine_in_room(first, middle, room);
    const Place right = combine_in_room(middle, end, room + 1);
    schedule_.combine(left, right, to, count_, kReduced, data_.type.size);
    return to;
  }

 private:
  Place combine_in_room(int first, int end, std::size_t room) {
    if (end - first == 1) return input_of(first) + offset_;
    while (room >= rooms_.size()) rooms_.push_back(piece_room(schedule_, data_));
    return combine(first, end, rooms_[room], room + 1);
  }

  Schedule& schedule_;
  Fold fold_;
  const Reduction& data_;
  Count offset_, count_;
  std::vector<Place> rooms_;
};

/// Steps of a group: the inputs' elements from `offset` on, combined over all ranks, go to `to`. From the
/// last rank's to the first one's there is one sum, which stays in the cache; a tree takes some percent
/// longer.
void reduce_inputs(Schedule& schedule, Member self, const Reduction& data, Count offset, Count count,
                   Place to) {
  if (data.repeatable == Repeatable::kExact)
    return schedule.sum_inputs(offset, self.size, to, count, kReduced, data.type.size);
  if (data.repeatable == Repeatable::kOrder) {
    InputTree(schedule, self, data, offset, count).combine(0, self.size, to, 0);
    return;
  }
  const Place sum = self.size > 2 ? piece_room(schedule, data) : Place{};
  Place right = input_of(self.size - 1) + offset;
  for (int rank = self.size - 2; rank >= 0; --rank) {
    const Place target = rank == 0 ? to : sum;
    schedule.combine(input_of(rank) + offset, right, target, count, kReduced, data.type.size);
    right = target;
  }
}

}  // namespace

Slice slice_of(Member self, Count count, Count element_bytes) {
  const Count granule = std::max<Count>(1, kCacheLineBytes / std::max<Count>(1, element_bytes));
  const Count whole = count / self.size;
  const Count rest = count % self.size;
  const auto first = [&](int rank) {
    const Count even = rank * whole + std::min<Count>(rank, rest);
    return rank == self.size ? count : even / granule * granule;
  };
  return {first(self.rank), first(self.rank + 1) - first(self.rank)};
}

void single_copy_reduce(Schedule& schedule, Member self, int root, const Reduction& data) {
  schedule.exposed.push_back(exposed_input(data));
  if (self.rank == root) schedule.exposed.push_back(exposed_output(data.count, ExposedBuffer::Use::kWritten));
  begin(schedule, data);
  const Slice slice = slice_of(self, data.count, data.type.size);
  const Count offset = slice.first * data.type.size;
  const std::size_t first_step = schedule.begin_pieces();
  reduce_inputs(schedule, self, data, offset, slice.count, output_of(root) + offset);
  schedule.end_pieces(first_step, piece_of(data));
  finish(schedule, kSliceIsReduced);
}

SingleCopyCost single_copy_reduce_cost(int size, double bytes) {
  const double others = (size - 1) * bytes / size;
  return {.syncs = 2,
          .reduced_bytes = others,
          .total_bytes = size * others,
          .got_bytes = others,
          .put_bytes = others,
          .put_to_one = true,
          .all_meet = true};
}

void single_copy_reduce_copy(Schedule& schedule, Member self, int root, const Reduction& data) {
  schedule.exposed.push_back(exposed_input(data));
  if (self.rank != root) {
    schedule.exposed[0].use = ExposedBuffer::Use::kKept;
    schedule.offer();
    schedule.end_round();
    return;
  }
  schedule.exposed.push_back(exposed_output(data.count, ExposedBuffer::Use::kCombined));
  begin(schedule, data);
  const std::size_t first_step = schedule.begin_pieces();
  reduce_inputs(schedule, self, data, 0, data.count, output_of(root));
  schedule.end_pieces(first_step, piece_of(data));
  schedule.accept();
  schedule.end_round();
}

SingleCopyCost single_copy_reduce_copy_cost(int size, double bytes) {
  const double others = (size - 1) * bytes;
  return {.syncs = 1,
          .moved_bytes = bytes,
          .reduced_bytes = others,
          .total_bytes = 2 * others,
          .kept_bytes = bytes,
          .alone = true,
          .one_way = true};
}

void single_copy_allreduce(Schedule& schedule, Member self, const Reduction& data) {
  schedule.exposed = {exposed_input(data), exposed_output(data.count, ExposedBuffer::Use::kWritten)};
  begin(schedule, data);
  const Slice slice = slice_of(self, data.count, data.type.size);
  const Count offset = slice.first * data.type.size;
  const std::size_t first_step = schedule.begin_pieces();
  reduce_inputs(schedule, self, data, offset, slice.count, output_of(self.rank) + offset);
  for (int distance = 1; distance < self.size; ++distance)
    schedule.move(output_of(self.rank) + offset, output_of(neighbour(self, distance)) + offset, slice.count,
                  data.type.size);
  schedule.end_pieces(first_step, piece_of(data));
  finish(schedule, kSliceIsReduced);
}

SingleCopyCost single_copy_allreduce_cost(int size, double bytes) {
  const double others = (size - 1) * bytes / size;
  return {.syncs = 2,
          .moved_bytes = others,
          .reduced_bytes = others,
          .total_bytes = 2 * size * others,
          .got_bytes = others,
          .put_bytes = others,
          .put_run_bytes = bytes / size,
          .all_meet = true};
}

void single_copy_reduce_scatter(Schedule& schedule, Member self, const Reduction& data, const Blocks& parts) {
  const Count count = parts.count_of(self.rank);
  schedule.exposed = {exposed_input(data), exposed_output(count, ExposedBuffer::Use::kCombined)};
  begin(schedule, data);
  Count first = 0;
  for (int rank = 0; rank < self.rank; ++rank) first += parts.count_of(rank);
  const Count offset = first * data.type.size;
  // In place, the beginning of the buffer still belongs to other ranks, and what is behind the result stays
  // as it is.
  const Place result = data.in_place ? schedule.scratch(count * data.type.size) : output_of(self.rank);
  const std::size_t first_step = schedule.begin_pieces();
  reduce_inputs(schedule, self, data, offset, count, result);
  schedule.end_pieces(first_step, piece_of(data));
  schedule.signal(kSliceIsReduced);
  schedule.await_everyone(kSliceIsReduced);
  schedule.end_round();
  if (data.in_place) schedule.move(result, output_of(self.rank), count, data.type.size);
  schedule.accept();
  schedule.end_round();
}

SingleCopyCost single_copy_reduce_scatter_cost(int size, double bytes) {
  const double others = (size - 1) * bytes / size;
  return {.syncs = 2,
          .reduced_bytes = others,
          .total_bytes = size * others,
          .got_bytes = others,
          .all_meet = true};
}

namespace {

/// Steps of a group: the slice of all results in the order of coll/algorithm/order.hpp; the one of the ranks
/// 0 to r goes to the output of the rank r + `shift`. After the combinations with distance d the sum at a
/// rank is that of the last 2 d ranks: those of d ranks and more are results, and lie in the outputs.
void scan_by_doubling(Schedule& schedule, Member self, const Reduction& data, Slice slice, int shift) {
  const Count offset = slice.first * data.type.size;
  std::vector<Place> sums;
  for (int rank = 0; rank < self.size - shift; ++rank) sums.push_back(input_of(rank) + offset);
  std::vector<Place> rooms;  // of the ranks that have one, from the last down
  for (int distance = 1; distance < self.size - shift; distance *= 2) {
    for (int rank = self.size - shift - 1; rank >= distance; --rank) {
      Place& right = sums[static_cast<std::size_t>(rank)];
      const bool is_result = rank < 2 * distance;
      const auto room = static_cast<std::size_t>(self.size - shift - 1 - rank);
      if (!is_result && distance == 1) rooms.push_back(piece_room(schedule, data));
      const Place to = is_result ? output_of(rank + shift) + offset : rooms[room];
      schedule.combine(sums[static_cast<std::size_t>(rank - distance)], right, to, slice.count, kReduced,
                       data.type.size);
      right = to;
    }
  }
  schedule.move(sums[0], output_of(shift) + offset, slice.count, data.type.size);
}

/// Steps of a group: the same, exact. In place an output is its rank's input: so the last rank's comes first.
void scan_exactly(Schedule& schedule, Member self, const Reduction& data, Slice slice, int shift) {
  const Count offset = slice.first * data.type.size;
  for (int rank = self.size - 1; rank >= shift; --rank)
    schedule.sum_inputs(offset, rank + 1 - shift, output_of(rank) + offset, slice.count, kReduced,
                        data.type.size);
}

}  // namespace

void single_copy_scan(Schedule& schedule, Member self, const Reduction& data) {
  schedule.exposed = {exposed_input(data), exposed_output(data.count, ExposedBuffer::Use::kWritten)};
  begin(schedule, data);
  const Slice slice = slice_of(self, data.count, data.type.size);
  const Count offset = slice.first * data.type.size;
  const std::size_t first_step = schedule.begin_pieces();
  if (data.repeatable == Repeatable::kExact) {
    scan_exactly(schedule, self, data, slice, 0);
  } else if (data.repeatable == Repeatable::kOrder) {
    scan_by_doubling(schedule, self, data, slice, 0);
  } else {
    schedule.move(input_of(0) + offset, output_of(0) + offset, slice.count, data.type.size);
    for (int rank = 1; rank < self.size; ++rank)
      schedule.combine(output_of(rank - 1) + offset, input_of(rank) + offset, output_of(rank) + offset,
                       slice.count, kReduced, data.type.size);
  }
  schedule.end_pieces(first_step, piece_of(data));
  finish(schedule, kSliceIsReduced);
}

SingleCopyCost single_copy_scan_cost(int size, double bytes) {
  const double reduced = (size - 1) * bytes / size;
  return {.syncs = 2,
          .moved_bytes = bytes / size,
          .reduced_bytes = reduced,
          .total_bytes = size * bytes,
          .got_bytes = reduced,
          .put_bytes = reduced,
          .all_meet = true};
}

void single_copy_exscan(Schedule& schedule, Member self, const Reduction& data) {
  schedule.exposed.push_back(exposed_input(data));
  if (self.rank > 0) schedule.exposed.push_back(exposed_output(data.count, ExposedBuffer::Use::kWritten));
  begin(schedule, data);
  const Slice slice = slice_of(self, data.count, data.type.size);
  const Count offset = slice.first * data.type.size;
  const std::size_t first_step = schedule.begin_pieces();
  if (data.repeatable == Repeatable::kExact) {
    scan_exactly(schedule, self, data, slice, 1);
  } else if (data.repeatable == Repeatable::kOrder) {
    scan_by_doubling(schedule, self, data, slice, 1);
  } else {
    Place sum = piece_room(schedule, data);
    Place next_sum = piece_room(schedule, data);
    // A sum is on its way to the next rank's output when that rank's input has gone into the sum after it.
    Place ready = input_of(0) + offset;
    for (int rank = 1; rank < self.size; ++rank) {
      if (rank < self.size - 1)
        schedule.combine(ready, input_of(rank) + offset, sum, slice.count, kReduced, data.type.size);
      schedule.move(ready, output_of(rank) + offset, slice.count, data.type.size);
      ready = sum;
      std::swap(sum, next_sum);
    }
  }
  schedule.end_pieces(first_step, piece_of(data));
  finish(schedule, kSliceIsReduced);
}

SingleCopyCost single_copy_exscan_cost(int size, double bytes) {
  const double share = bytes / size;
  return {.syncs = 2,
          .moved_bytes = (size - 1) * share,
          .reduced_bytes = (size - 2) * share,
          .total_bytes = (2.0 * size - 3) * bytes,
          .got_bytes = (size - 1) * share,
          .put_bytes = (size - 1) * share,
          .all_meet = true};
}

}  // namespace tasuki

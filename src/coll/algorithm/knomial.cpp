// K-nomial trees: see coll/algorithm/knomial.hpp.
#include "coll/algorithm/knomial.hpp"

#include <array>
#include <cstddef>

#include "coll/algorithm/tree.hpp"

namespace tasuki {

void bcast_knomial(Schedule& schedule, Member self, int root, const Elements& data, int radix) {
  const TreePlace at = tree_place(self, root, radix);
  if (at.vrank != 0) {
    schedule.receive(data.place(), data.count, data.element, neighbour(self, -at.distance_up));
    schedule.end_round();
  }
  at.for_children_from_top([&](int distance, int) {
    schedule.send(data.place(), data.count, data.element, neighbour(self, distance));
    schedule.end_child(data.bytes());
  });
  schedule.end_round();
}

Cost bcast_knomial_cost(int size, double bytes, int radix) {
  const double children = tree_children_max(size, radix);
  return {.steps = children,
          .messages = size - 1.0,
          .bytes = children * bytes,
          .total_bytes = (size - 1) * bytes,
          .levels = static_cast<double>(tree_levels(size, radix)),
          .one_way = true};
}

namespace {

/// A list that needs no memory of its own: of what one digit of a vrank counts.
template <class T>
struct Few {
  std::array<T, kRadixMax> items;
  std::size_t count = 0;

  void push(const T& item) { items[count++] = item; }
  T pop() { return items[--count]; }
};

/// The vectors of a reduction at one rank: where the sum so far lies, and the rooms in which others come. The
/// sum is the left operand and goes to the right one's place, so that place is its own from then on.
class Sum {
 public:
  Sum(Schedule& schedule, const Reduction& data) : schedule_(schedule), data_(data), value_(data.input()) {}

  Place value() const { return value_; }

  /// Takes in the children of one digit. `to_result`: where the sum is to lie afterwards.
  void add(Member self, const Few<int>& distances, bool to_result) {
    Few<Place> rooms;
    for (std::size_t i = 0; i < distances.count; ++i) {
      rooms.push(to_result && i + 1 == distances.count ? kResult : take_room());
      schedule_.receive(rooms.items[i], data_.count, kReduced, neighbour(self, distances.items[i]));
    }
    schedule_.end_round();
    for (std::size_t i = 0; i < rooms.count; ++i) {
      schedule_.reduce(value_, rooms.items[i], data_.count, kReduced);
      if (value_is_room_) free_.push(value_);
      value_ = rooms.items[i];
      value_is_room_ = true;
    }
  }

 private:
  Place take_room() {
    return free_.count > 0 ? free_.pop() : schedule_.scratch_elements(data_.count, data_.type);
  }

  Schedule& schedule_;
  const Reduction& data_;
  Place value_;
  bool value_is_room_ = false;
  Few<Place> free_;
};

}  // namespace

void reduce_knomial(Schedule& schedule, Member self, int root, const Reduction& data, int radix) {
  const int top = data.commutative ? root : 0;
  const TreePlace at = tree_place(self, top, radix);
  const bool ends_here = self.rank == root && root == top;
  Sum sum(schedule, data);
  for (int weight = 1; weight < at.subtree; weight *= radix) {
    Few<int> distances;
    at.visit_digit(weight, [&](int distance, int) { distances.push(distance); });
    // The last sum may lie in the result at once, unless the input does and is still needed.
    const bool last = ends_here && weight * radix >= at.subtree && !(sum.value() == kResult);
    sum.add(self, distances, last);
  }
  if (ends_here) {
    if (!(sum.value() == kResult))
      schedule.copy(sum.value(), data.count, kReduced, kResult, data.count, kReduced);
  } else {
    schedule.send(sum.value(), data.count, kReduced, at.vrank == 0 ? root : neighbour(self, -at.distance_up));
    schedule.end_round();
    if (self.rank == root) schedule.receive(kResult, data.count, kReduced, top);
  }
  schedule.end_round();
}

Cost reduce_knomial_cost(int size, double bytes, bool commutative, int radix) {
  const double children = tree_children_max(size, radix);
  // To keep the order the tree ends at rank 0, which hands on to the root: a step more unless it is the root.
  const double handed_on = commutative || size == 1 ? 0 : 1;
  return {.steps = children + handed_on,
          .messages = size - 1 + handed_on,
          .bytes = children * bytes,
          .total_bytes = (size - 1 + handed_on) * bytes,
          .reduced_bytes = children * bytes,
          .total_reduced_bytes = (size - 1) * bytes,
          .levels = static_cast<double>(tree_levels(size, radix)),
          .one_way = true};
}

namespace {

/// The root's part: what its children hand up goes straight to its place, but for the one run of blocks that
/// goes around the end of the ranks.
void gather_at_root(Schedule& schedule, Member self, const Elements& mine, const Blocks& all, int radix) {
  const Count block = all.bytes_of(self.rank);
  if (!mine.in_place)
    schedule.copy(mine.place(), mine.count, mine.element, all.place_of(self.rank), all.count, all.element);
  Place held;
  int held_first = 0, held_blocks = 0;
  tree_place(self, self.rank, radix).for_children([&](int distance, int blocks) {
    const int child = neighbour(self, distance);
    if (child + blocks <= self.size) {
      schedule.receive(all.place_of(child), blocks * all.count, all.element, child);
    } else {
      held = schedule.scratch(blocks * block);
      held_first = child;
      held_blocks = blocks;
      schedule.receive(held, blocks * block, ElementType::kBytes, child);
    }
  });
  schedule.end_round();
  if (held_blocks == 0) return;
  const int before_end = self.size - held_first;
  schedule.copy(held, before_end * block, ElementType::kBytes, all.place_of(held_first),
                before_end * all.count, all.element);
  const int after_end = held_blocks - before_end;
  schedule.copy(held + before_end * block, after_end * block, ElementType::kBytes, all.place_of(0),
                after_end * all.count, all.element);
  schedule.end_round();
}

/// The root's part: runs of blocks leave from where they lie, but for the one that goes around the end of the
/// ranks.
void scatter_at_root(Schedule& schedule, Member self, const Blocks& all, const Elements& mine, int radix) {
  const Count block = all.bytes_of(self.rank);
  tree_place(self, self.rank, radix).for_children_from_top([&](int distance, int blocks) {
    const int child = neighbour(self, distance);
    if (child + blocks <= self.size) {
      schedule.send(all.place_of(child), blocks * all.count, all.element, child);
      return schedule.end_child(blocks * block);
    }
    const Place held = schedule.scratch(blocks * block);
    const int before_end = self.size - child;
    schedule.copy(all.place_of(child), before_end * all.count, all.element, held, before_end * block,
                  ElementType::kBytes);
    const int after_end = blocks - before_end;
    schedule.copy(all.place_of(0), after_end * all.count, all.element, held + before_end * block,
                  after_end * block, ElementType::kBytes);
    schedule.send(held, blocks * block, ElementType::kBytes, child);
    schedule.end_child(blocks * block);
  });
  if (!mine.in_place)
    schedule.copy(all.place_of(self.rank), all.count, all.element, mine.place(), mine.count, mine.element);
  schedule.end_round();
}

}  // namespace

void gather_knomial(Schedule& schedule, Member self, int root, const Elements& mine, const Blocks& all,
                    int radix) {
  if (self.rank == root) return gather_at_root(schedule, self, mine, all, radix);
  const TreePlace at = tree_place(self, root, radix);
  const int parent = neighbour(self, -at.distance_up);
  if (at.subtree == 1) {
    schedule.send(mine.place(), mine.count, mine.element, parent);
    schedule.end_round();
    return;
  }
  const Count block = mine.bytes();
  const Place held = schedule.scratch(at.subtree * block);
  schedule.copy(mine.place(), mine.count, mine.element, held, block, ElementType::kBytes);
  at.for_children([&](int distance, int blocks) {
    schedule.receive(held + distance * block, blocks * block, ElementType::kBytes, neighbour(self, distance));
  });
  schedule.end_round();
  schedule.send(held, at.subtree * block, ElementType::kBytes, parent);
  schedule.end_round();
}

Cost gather_knomial_cost(int size, double block_bytes, int radix) {
  return {.steps = static_cast<double>(tree_children_max(size, radix)),
          .messages = size - 1.0,
          .bytes = (size - 1) * block_bytes,
          .total_bytes = tree_blocks_moved(size, radix) * block_bytes,
          .copied_bytes = block_bytes,
          .levels = static_cast<double>(tree_levels(size, radix)),
          .one_way = true};
}

void scatter_knomial(Schedule& schedule, Member self, int root, const Blocks& all, const Elements& mine,
                     int radix) {
  if (self.rank == root) return scatter_at_root(schedule, self, all, mine, radix);
  const TreePlace at = tree_place(self, root, radix);
  const int parent = neighbour(self, -at.distance_up);
  if (at.subtree == 1) {
    schedule.receive(mine.place(), mine.count, mine.element, parent);
    schedule.end_round();
    return;
  }
  const Count block = mine.bytes();
  const Place held = schedule.scratch(at.subtree * block);
  schedule.receive(held, at.subtree * block, ElementType::kBytes, parent);
  schedule.end_round();
  at.for_children_from_top([&](int distance, int blocks) {
    schedule.send(held + distance * block, blocks * block, ElementType::kBytes, neighbour(self, distance));
    schedule.end_child(blocks * block);
  });
  schedule.copy(held, block, ElementType::kBytes, mine.place(), mine.count, mine.element);
  schedule.end_round();
}

Cost scatter_knomial_cost(int size, double block_bytes, int radix) {
  return gather_knomial_cost(size, block_bytes, radix);  // the same messages, the other way
}

// With the radix 2.

void bcast_binomial(Schedule& schedule, Member self, int root, const Elements& data) {
  bcast_knomial(schedule, self, root, data, 2);
}
Cost bcast_binomial_cost(int size, double bytes) {
  return bcast_knomial_cost(size, bytes, 2);
}

void gather_binomial(Schedule& schedule, Member self, int root, const Elements& mine, const Blocks& all) {
  gather_knomial(schedule, self, root, mine, all, 2);
}
Cost gather_binomial_cost(int size, double block_bytes) {
  return gather_knomial_cost(size, block_bytes, 2);
}

void scatter_binomial(Schedule& schedule, Member self, int root, const Blocks& all, const Elements& mine) {
  scatter_knomial(schedule, self, root, all, mine, 2);
}
Cost scatter_binomial_cost(int size, double block_bytes) {
  return scatter_knomial_cost(size, block_bytes, 2);
}

}  // namespace tasuki

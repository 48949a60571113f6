// Pipelines along trees: see coll/pipeline/pipeline.hpp.
#include "coll/pipeline/pipeline.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "coll/algorithm/tree.hpp"

namespace tasuki {
namespace {

/// A run of equal units of which a part travels along each tree.
struct Stream {
  Place place;
  ElementType element = ElementType::kBytes;
  Count extent = 1;  // bytes from one unit to the next
  Count unit_bytes = 1;
  Count count = 0;

  Place at(Count unit) const { return place + unit * extent; }
};

Stream vector_of(const Reduction& data, Place place) {
  return {place, kReduced, data.type.extent, data.type.size, data.count};
}

/// The part of `count` units that part `index` of `parts` has begins here.
Count part_begin(Count count, std::size_t parts, std::size_t index) {
  const auto n = static_cast<Count>(parts);
  const auto i = static_cast<Count>(index);
  return count / n * i + std::min(i, count % n);
}

Segments segments_of(const Stream& stream, std::size_t parts, std::size_t index, Count segment_bytes) {
  return {part_begin(stream.count, parts, index + 1) - part_begin(stream.count, parts, index),
          stream.unit_bytes, segment_bytes};
}

/// The number of the most segments that a part has: that of the first part, which is as long as any.
int most_segments(const Stream& stream, std::size_t parts, Count segment_bytes) {
  return segments_of(stream, parts, 0, segment_bytes).number();
}

bool has(const Segments& segments, int index) {
  return index >= 0 && index < segments.number();
}

void run_down(Schedule& schedule, std::span<const PipelineTree> trees, int hops_max, const Stream& stream,
              Count segment_bytes) {
  const int segments_max = most_segments(stream, trees.size(), segment_bytes);
  const int ticks = hops_max + segments_max;
  if (segments_max > 1) schedule.follows_data = true;
  for (int tick = 1; tick < ticks; ++tick) {
    for (std::size_t part = 0; part < trees.size(); ++part) {
      const PipelineTree& tree = trees[part];
      const Segments segments = segments_of(stream, trees.size(), part, segment_bytes);
      const Count first = part_begin(stream.count, trees.size(), part);
      const int coming = tick - tree.hops;
      if (tree.parent >= 0 && has(segments, coming))
        schedule.receive(stream.at(first + segments.begin(coming)), segments.length(coming), stream.element,
                         tree.parent);
      const int leaving = coming - 1;
      if (!has(segments, leaving)) continue;
      for (int child = 0; child < tree.children_count; ++child)
        schedule.send(stream.at(first + segments.begin(leaving)), segments.length(leaving), stream.element,
                      tree.children[static_cast<std::size_t>(child)]);
    }
    schedule.end_round();
  }
}

/// One tree of a reduction at one rank. What comes from a child lies in one of two rooms that take turns, or
/// at the root, where its result is free, there. The last child of the tree, which has the shortest way below
/// it, is the first here: what comes first is reduced first.
class Upward {
 public:
  Upward(Schedule& schedule, const PipelineTree& tree, const Reduction& data, const Segments& segments,
         Count first)
      : schedule_(schedule), tree_(tree), data_(data), segments_(segments), first_(first) {
    std::reverse(tree_.children.begin(), tree_.children.begin() + tree_.children_count);
    for (int child = is_root() && !data.in_place ? 1 : 0; child < tree.children_count; ++child) {
      for (Place& room : rooms_[static_cast<std::size_t>(child)])
        room = schedule.scratch_elements(std::min(segments.segment, segments.count), data.type);
    }
  }

  /// In one tick: segment `index` + 1 comes from the children, segment `index` is reduced and goes on.
  void tick(int index) {
    if (has(segments_, index + 1)) {
      for (int child = 0; child < tree_.children_count; ++child)
        schedule_.receive(place_of(child, index + 1), segments_.length(index + 1), kReduced,
                          tree_.children[static_cast<std::size_t>(child)]);
    }
    if (!has(segments_, index)) return;
    const Count length = segments_.length(index);
    Place value = at(data_.input(), index);
    for (int child = 0; child < tree_.children_count; ++child) {
      Place into = place_of(child, index);
      // At the root the result takes the sum: where it holds the first operand, and after the first child.
      if (is_root() && (data_.in_place || child > 0)) {
        std::swap(value, into);
      }
      schedule_.reduce(value, into, length, kReduced);
      value = into;
    }
    if (!is_root()) schedule_.send(value, length, kReduced, tree_.parent);
  }

 private:
  bool is_root() const { return tree_.parent < 0; }
  Place at(Place vector, int index) const {
    return vector + (first_ + segments_.begin(index)) * data_.type.extent;
  }
  Place place_of(int child, int index) const {
    if (is_root() && !data_.in_place && child == 0) return at(kResult, index);
    return rooms_[static_cast<std::size_t>(child)][static_cast<std::size_t>(index % 2)];
  }

  Schedule& schedule_;
  PipelineTree tree_;
  const Reduction& data_;
  Segments segments_;
  Count first_;
  std::array<std::array<Place, 2>, kDirectionsMax> rooms_ = {};
};

}  // namespace

Segments::Segments(Count units, Count unit_bytes, Count segment_bytes) : count(units) {
  if (units == 0) return;
  segment = segment_bytes <= 0 ? units
                               : std::clamp<Count>(segment_bytes / std::max<Count>(unit_bytes, 1), 1, units);
  segment = std::max(segment, (units + kSegmentsMax - 1) / kSegmentsMax);
}

double segments_number(double bytes, double segment_bytes) {
  if (bytes <= 0) return 0;
  if (segment_bytes <= 0) return 1;
  return std::min(std::ceil(bytes / segment_bytes), static_cast<double>(kSegmentsMax));
}

void bcast_pipelined(Schedule& schedule, std::span<const PipelineTree> trees, int hops_max,
                     const Elements& data, Count segment_bytes) {
  const Count bytes = data.bytes();
  const bool is_root = trees[0].parent < 0;
  const bool packed = !data.type.contiguous;
  const Place all = packed ? schedule.scratch(bytes) : data.place();
  if (packed && is_root)
    schedule.copy(data.place(), data.count, data.element, all, bytes, ElementType::kBytes);
  run_down(schedule, trees, hops_max, {.place = all, .count = bytes}, segment_bytes);
  if (packed && !is_root)
    schedule.copy(all, bytes, ElementType::kBytes, data.place(), data.count, data.element);
  schedule.end_round();
}

void reduce_pipelined(Schedule& schedule, std::span<const PipelineTree> trees, int hops_max,
                      const Reduction& data, Count segment_bytes) {
  const Stream stream = vector_of(data, data.input());
  if (hops_max == 0) {
    if (!data.in_place) schedule.copy(data.input(), data.count, kReduced, kResult, data.count, kReduced);
    schedule.end_round();
    return;
  }
  std::vector<Upward> parts;
  parts.reserve(trees.size());
  for (std::size_t part = 0; part < trees.size(); ++part) {
    parts.emplace_back(schedule, trees[part], data, segments_of(stream, trees.size(), part, segment_bytes),
                       part_begin(stream.count, trees.size(), part));
  }
  const int segments_max = most_segments(stream, trees.size(), segment_bytes);
  const int ticks = hops_max + segments_max;
  if (segments_max > 1) schedule.follows_data = true;
  for (int tick = 1; tick <= ticks; ++tick) {
    for (std::size_t part = 0; part < trees.size(); ++part)
      parts[part].tick(tick - (hops_max + 1 - trees[part].hops));
    schedule.end_round();
  }
}

void allreduce_pipelined(Schedule& schedule, std::span<const PipelineTree> trees, int hops_max,
                         const Reduction& data, Count segment_bytes) {
  reduce_pipelined(schedule, trees, hops_max, data, segment_bytes);
  run_down(schedule, trees, hops_max, vector_of(data, kResult), segment_bytes);
}

int chain_hops(int size) {
  return size - 1;
}

PipelineTree chain_tree(Member self, int root) {
  PipelineTree tree;
  tree.hops = tree_place(self, root).vrank;
  if (tree.hops > 0) tree.parent = neighbour(self, -1);
  if (tree.hops + 1 < self.size) tree.add_child(neighbour(self, 1));
  return tree;
}

int binary_tree_hops(int size) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(size))) - 1;
}

PipelineTree binary_tree(Member self, int root) {
  const int vrank = tree_place(self, root).vrank;
  const auto rank_of = [&](int at_vrank) { return (at_vrank + root) % self.size; };
  PipelineTree tree;
  tree.hops = binary_tree_hops(vrank + 1);
  if (vrank > 0) tree.parent = rank_of((vrank - 1) / 2);
  for (int child = 2 * vrank + 1; child <= 2 * vrank + 2 && child < self.size; ++child)
    tree.add_child(rank_of(child));
  return tree;
}

void bcast_chain(Schedule& schedule, Member self, int root, const Elements& data, Count segment_bytes) {
  const PipelineTree tree = chain_tree(self, root);
  bcast_pipelined(schedule, {&tree, 1}, chain_hops(self.size), data, segment_bytes);
}

void bcast_binary_tree(Schedule& schedule, Member self, int root, const Elements& data, Count segment_bytes) {
  const PipelineTree tree = binary_tree(self, root);
  bcast_pipelined(schedule, {&tree, 1}, binary_tree_hops(self.size), data, segment_bytes);
}

void reduce_chain(Schedule& schedule, Member self, int root, const Reduction& data, Count segment_bytes) {
  const PipelineTree tree = chain_tree(self, root);
  reduce_pipelined(schedule, {&tree, 1}, chain_hops(self.size), data, segment_bytes);
}

void reduce_binary_tree(Schedule& schedule, Member self, int root, const Reduction& data,
                        Count segment_bytes) {
  const PipelineTree tree = binary_tree(self, root);
  reduce_pipelined(schedule, {&tree, 1}, binary_tree_hops(self.size), data, segment_bytes);
}

void allreduce_chain(Schedule& schedule, Member self, const Reduction& data, Count segment_bytes) {
  const PipelineTree tree = chain_tree(self, 0);
  allreduce_pipelined(schedule, {&tree, 1}, chain_hops(self.size), data, segment_bytes);
}

void allreduce_binary_tree(Schedule& schedule, Member self, const Reduction& data, Count segment_bytes) {
  const PipelineTree tree = binary_tree(self, 0);
  allreduce_pipelined(schedule, {&tree, 1}, binary_tree_hops(self.size), data, segment_bytes);
}

// The costs. A tree of `hops` whose ranks have up to `children` below them.

namespace {

Cost tree_cost(int size, int hops, int children, double bytes, double segment_bytes) {
  if (size == 1 || bytes == 0) return {};
  const double segments = segments_number(bytes, segment_bytes);
  return {.steps = children * (hops + segments - 1),
          .messages = (size - 1) * segments,
          .bytes = children * bytes,
          .total_bytes = (size - 1) * bytes,
          .levels = static_cast<double>(hops),
          .one_way = true};
}

Cost with_reduction(Cost cost) {
  cost.reduced_bytes = cost.bytes;
  cost.total_reduced_bytes = cost.total_bytes;
  return cost;
}

/// Both ways. `through` vectors go through the busiest rank in either direction.
Cost both_ways(Cost reduction, double bytes, int through) {
  return {.steps = 2 * reduction.steps,
          .messages = 2 * reduction.messages,
          .bytes = through * bytes,
          .total_bytes = 2 * reduction.total_bytes,
          .reduced_bytes = reduction.reduced_bytes,
          .total_reduced_bytes = reduction.total_reduced_bytes};
}

int binary_children(int size) {
  return std::min(size - 1, 2);
}

}  // namespace

Cost bcast_chain_cost(int size, double bytes, double segment_bytes) {
  return tree_cost(size, chain_hops(size), 1, bytes, segment_bytes);
}

Cost bcast_binary_tree_cost(int size, double bytes, double segment_bytes) {
  return tree_cost(size, binary_tree_hops(size), binary_children(size), bytes, segment_bytes);
}

Cost reduce_chain_cost(int size, double bytes, double segment_bytes) {
  return with_reduction(bcast_chain_cost(size, bytes, segment_bytes));
}

Cost reduce_binary_tree_cost(int size, double bytes, double segment_bytes) {
  return with_reduction(bcast_binary_tree_cost(size, bytes, segment_bytes));
}

Cost allreduce_chain_cost(int size, double bytes, double segment_bytes) {
  // An inner rank hands both what comes up and what comes down on; of two ranks, neither does.
  return both_ways(reduce_chain_cost(size, bytes, segment_bytes), bytes, std::min(size - 1, 2));
}

Cost allreduce_binary_tree_cost(int size, double bytes, double segment_bytes) {
  // From 5 ranks on there is one with a parent and two children.
  return both_ways(reduce_binary_tree_cost(size, bytes, segment_bytes), bytes,
                   size >= 5 ? 3 : std::min(size - 1, 2));
}

}  // namespace tasuki

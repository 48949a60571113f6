// Pipelines in several directions: see coll/pipeline/multi_direction.hpp.
#include "coll/pipeline/multi_direction.hpp"

#include <algorithm>
#include <vector>

namespace tasuki {
namespace {

/// The points as seen from the root, for one part: coordinate 0 is that of the dimension the part takes
/// first.
struct View {
  const Grid& grid;
  GridPoint root;
  int part;

  int dimensions() const { return grid.dimensions; }
  int dimension(int turn) const { return (part + turn) % grid.dimensions; }
  int extent(int turn) const { return grid.extent(dimension(turn)); }

  GridPoint seen(int rank) const {
    const GridPoint point = grid.point_of(rank);
    GridPoint offset = {};
    for (int turn = 0; turn < dimensions(); ++turn) {
      const auto at = static_cast<std::size_t>(dimension(turn));
      offset[static_cast<std::size_t>(turn)] = (point[at] - root[at] + extent(turn)) % extent(turn);
    }
    return offset;
  }
  int rank_at(const GridPoint& offset) const {
    GridPoint point = {};
    for (int turn = 0; turn < dimensions(); ++turn) {
      const auto at = static_cast<std::size_t>(dimension(turn));
      point[at] = (root[at] + offset[static_cast<std::size_t>(turn)]) % extent(turn);
    }
    return grid.rank_of(point);
  }

  /// Whether there is a point before this one in the tree; if so, goes there.
  bool go_up(GridPoint& offset) const {
    int away = dimensions() - 1;  // the last turn in which it is away from the root
    while (away >= 0 && offset[static_cast<std::size_t>(away)] == 0) --away;
    if (away < 0) return false;
    if (offset[0] == 0) {
      offset[0] = extent(0) - 1;
    } else {
      --offset[static_cast<std::size_t>(away)];
    }
    return true;
  }

  /// Steps one link on in one dimension, around the end.
  GridPoint next(GridPoint offset, int turn) const {
    int& coordinate = offset[static_cast<std::size_t>(turn)];
    coordinate = (coordinate + 1) % extent(turn);
    return offset;
  }
};

std::vector<PipelineTree> trees_of(const Grid& grid, int rank, int root) {
  std::vector<PipelineTree> trees;
  for (int part = 0; part < std::max(grid.dimensions, 1); ++part)
    trees.push_back(direction_tree(grid, rank, root, part));
  return trees;
}

}  // namespace

PipelineTree direction_tree(const Grid& grid, int rank, int root, int part) {
  const View view{grid, grid.point_of(root), part};
  const GridPoint self = view.seen(rank);
  PipelineTree tree;
  GridPoint up = self;
  if (view.go_up(up)) {
    tree.parent = view.rank_at(up);
    do ++tree.hops;
    while (view.go_up(up));
  }
  // The child with the longest way below it goes first: along the dimension that the part takes first. At the
  // end of that dimension this is the step around the torus, which leads nowhere else and goes last.
  const bool is_at_end = grid.dimensions > 1 && self[0] == view.extent(0) - 1;
  for (int number = 0; number < grid.dimensions; ++number) {
    const int turn = is_at_end ? (number + 1) % grid.dimensions : number;
    const GridPoint child = view.next(self, turn);
    GridPoint back = child;
    if (view.go_up(back) && back == self) tree.add_child(view.rank_at(child));
  }
  return tree;
}

int direction_hops(const Grid& grid) {
  int hops = grid.dimensions > 1 ? 1 : 0;  // the last one, around the torus
  for (int dimension = 0; dimension < grid.dimensions; ++dimension) hops += grid.extent(dimension) - 1;
  return hops;
}

void bcast_multi_direction(Schedule& schedule, int rank, int root, const Grid& grid, const Elements& data,
                           Count segment_bytes) {
  bcast_pipelined(schedule, trees_of(grid, rank, root), direction_hops(grid), data, segment_bytes);
}

void reduce_multi_direction(Schedule& schedule, int rank, int root, const Grid& grid, const Reduction& data,
                            Count segment_bytes) {
  reduce_pipelined(schedule, trees_of(grid, rank, root), direction_hops(grid), data, segment_bytes);
}

void allreduce_multi_direction(Schedule& schedule, int rank, const Grid& grid, const Reduction& data,
                               Count segment_bytes) {
  allreduce_pipelined(schedule, trees_of(grid, rank, 0), direction_hops(grid), data, segment_bytes);
}

Cost bcast_multi_direction_cost(const Grid& grid, double bytes, double segment_bytes) {
  if (grid.dimensions == 0 || bytes == 0) return {};
  const double directions = grid.dimensions;
  const double segments = segments_number(bytes / directions, segment_bytes);
  return {.steps = directions * (direction_hops(grid) + segments - 1),
          .messages = (grid.size() - 1) * directions * segments,
          .bytes = bytes,
          .total_bytes = (grid.size() - 1) * bytes,
          .levels = static_cast<double>(direction_hops(grid)),
          .one_way = grid.dimensions == 1};
}

Cost reduce_multi_direction_cost(const Grid& grid, double bytes, double segment_bytes) {
  Cost cost = bcast_multi_direction_cost(grid, bytes, segment_bytes);
  cost.reduced_bytes = cost.bytes;
  cost.total_reduced_bytes = cost.total_bytes;
  return cost;
}

Cost allreduce_multi_direction_cost(const Grid& grid, double bytes, double segment_bytes) {
  const Cost one_way = bcast_multi_direction_cost(grid, bytes, segment_bytes);
  return {.steps = 2 * one_way.steps,
          .messages = 2 * one_way.messages,
          .bytes = (grid.size() == 2 ? 1 : 2) * one_way.bytes,
          .total_bytes = 2 * one_way.total_bytes,
          .reduced_bytes = one_way.bytes,
          .total_reduced_bytes = one_way.total_bytes};
}

}  // namespace tasuki

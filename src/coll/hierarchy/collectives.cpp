// The hierarchical collectives that synchronise, broadcast and reduce: see coll/hierarchy/collectives.hpp.
#include "coll/hierarchy/collectives.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tasuki::hierarchy {
namespace {

Elements elements_of(const Reduction& vector) {
  return {.element = kReduced, .type = vector.type, .count = vector.count};
}

}  // namespace

void barrier(Parts& parts, const CallData&) {
  const Place bytes = parts.schedule.scratch(parts.carries() ? parts.ranks() : 1);
  const Elements own{
      .space = Space::kSend, .element = ElementType::kBytes, .count = 1, .in_place = parts.carries()};
  const Blocks all{.element = ElementType::kBytes, .count = 1};
  parts.on_node(Operation::kGather, {.elements = own, .blocks = all}, {.send = bytes, .receive = bytes});
  parts.on_carriers(Operation::kBarrier, {});
  parts.on_node(Operation::kBcast, {.elements = {.element = ElementType::kBytes, .count = 1}},
                {.receive = bytes});
}

void bcast(Parts& parts, const CallData& data) {
  parts.on_carriers(Operation::kBcast, data);
  parts.on_node(Operation::kBcast, data);
}

void reduce(Parts& parts, const CallData& data) {
  Reduction vector = data.vector;
  Buffers sums;  // of the nodes: at the root the result
  if (!parts.is_alone()) {
    if (parts.carries() && !parts.is_root())
      sums.send = parts.schedule.scratch_elements(vector.count, vector.type);
    parts.on_node(Operation::kReduce, data, {.receive = parts.is_root() ? kResult : sums.send});
    vector.in_place = parts.is_root();
  }
  parts.on_carriers(Operation::kReduce, {.vector = vector}, sums);
}

void allreduce(Parts& parts, const CallData& data) {
  Reduction vector = data.vector;
  if (!parts.is_alone()) {
    // In place counts at the root of a reduction only: elsewhere the input is a send buffer.
    vector.in_place = data.vector.in_place && parts.carries();
    parts.on_node(Operation::kReduce, {.vector = vector}, {.send = data.vector.input()});
    vector.in_place = true;
  }
  parts.on_carriers(Operation::kAllreduce, {.vector = vector});
  parts.on_node(Operation::kBcast, {.elements = elements_of(vector)});
}

void allreduce_by_lanes(Parts& parts, const CallData& data) {
  const Reduction& vector = data.vector;
  const Count ranks = parts.ranks();
  std::vector<Count> counts;  // elements of each rank's slice
  for (Count index = 0; index < ranks; ++index)
    counts.push_back(vector.count / ranks + (index < vector.count % ranks ? 1 : 0));
  const Blocks slices = parts.in_a_row({.element = kReduced, .type = vector.type}, std::move(counts));
  Reduction slice = vector;
  slice.count = slices.count_of(parts.own_index());
  // The node's sum of the own slice goes to where the sum of all will be, unless an input is there.
  const Place result = slices.place_of(parts.own_index());
  const Place sum = vector.in_place ? parts.schedule.scratch_elements(slice.count, vector.type) : result;
  Reduction whole = vector;
  whole.in_place = false;
  parts.on_node(Operation::kReduceScatter, {.blocks = slices, .vector = whole},
                {.send = vector.input(), .receive = sum});
  slice.in_place = !vector.in_place;
  parts.on_lanes(Operation::kAllreduce, {.vector = slice}, {.send = sum, .receive = result});
  Elements own = elements_of(slice);
  own.in_place = true;
  parts.on_node(Operation::kAllgather, {.elements = own, .blocks = slices});
}

/// Each rank of the node gets the node's sum of the blocks that its lane is to have.
void reduce_scatter(Parts& parts, const CallData& data) {
  const Reduction& vector = data.vector;
  const NodeMap& map = parts.map;
  std::vector<Count> firsts{0};  // elements before each rank's block
  for (int rank = 0; rank < map.size(); ++rank) firsts.push_back(firsts.back() + data.blocks.count_of(rank));
  const Place by_lane = parts.schedule.scratch_elements(vector.count, vector.type);
  std::vector<Count> of_lanes, of_own_lane;  // elements of each lane's blocks, and of those of the own lane
  Place to = by_lane;
  for (int index = 0; index < parts.ranks(); ++index) {
    of_lanes.push_back(0);
    for (int node = 0; node < map.nodes(); ++node) {
      const int rank = map.ranks_of(node)[static_cast<std::size_t>(index)];
      const Count count = data.blocks.count_of(rank);
      const Place from = vector.input() + firsts[static_cast<std::size_t>(rank)] * vector.type.extent;
      parts.schedule.copy(from, count, kReduced, to, count, kReduced);
      to = to + count * vector.type.extent;
      of_lanes.back() += count;
      if (index == parts.own_index()) of_own_lane.push_back(count);
    }
  }
  const Blocks like{.element = kReduced, .type = vector.type};
  const Blocks lanes = parts.in_a_row(like, std::move(of_lanes));
  Reduction part = vector;
  part.in_place = false;
  Reduction sum = part;
  sum.count = lanes.count_of(parts.own_index());
  const Place sums = parts.schedule.scratch_elements(sum.count, vector.type);
  parts.on_node(Operation::kReduceScatter, {.blocks = lanes, .vector = part},
                {.send = by_lane, .receive = sums});
  parts.on_lanes(Operation::kReduceScatter,
                 {.blocks = parts.in_a_row(like, std::move(of_own_lane)), .vector = sum}, {.send = sums});
}

namespace {

/// The carriers, here the last ranks of their nodes, have the nodes' sums at `sum`: those over the nodes
/// before this one go to `before`, at all ranks of the node. Returns false on the first node, which has none.
bool sum_nodes_before(Parts& parts, const Reduction& vector, Place sum, Place before) {
  Reduction sums = vector;
  sums.in_place = false;
  parts.on_carriers(Operation::kExscan, {.vector = sums}, {.send = sum, .receive = before});
  if (parts.own_node() == 0) return false;
  parts.on_node(Operation::kBcast, {.elements = elements_of(vector)}, {.receive = before});
  return true;
}

}  // namespace

void scan(Parts& parts, const CallData& data) {
  const Reduction& vector = data.vector;
  parts.carry_as(parts.map.ranks_of(0).back());
  const Place before = parts.schedule.scratch_elements(vector.count, vector.type);
  parts.on_node(Operation::kScan, data);
  if (sum_nodes_before(parts, vector, kResult, before))
    parts.schedule.reduce(before, kResult, vector.count, kReduced);
}

void exscan(Parts& parts, const CallData& data) {
  const Reduction& vector = data.vector;
  Schedule& schedule = parts.schedule;
  parts.carry_as(parts.map.ranks_of(0).back());
  const Place before = schedule.scratch_elements(vector.count, vector.type);
  const Place sum = schedule.scratch_elements(vector.count, vector.type);
  // The node's last rank adds its own vector to those before it.
  if (parts.carries()) schedule.copy(vector.input(), vector.count, kReduced, sum, vector.count, kReduced);
  parts.on_node(Operation::kExscan, data);
  if (parts.carries() && !parts.is_alone()) schedule.reduce(kResult, sum, vector.count, kReduced);
  if (!sum_nodes_before(parts, vector, sum, before)) return;
  if (parts.own_index() == 0) {
    schedule.copy(before, vector.count, kReduced, kResult, vector.count, kReduced);
  } else {
    schedule.reduce(before, kResult, vector.count, kReduced);
  }
}

}  // namespace tasuki::hierarchy

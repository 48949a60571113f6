// Hierarchical collectives as schedules: see coll/hierarchy/schedules.hpp. Those that move blocks are in
// coll/hierarchy/schedules_of_blocks.cpp.
#include "coll/hierarchy/schedules.hpp"

#include <algorithm>
#include <vector>

#include "coll/hierarchy/subset.hpp"

namespace tasuki {

using namespace hierarchy;

void hierarchical_barrier(Schedule& schedule, int rank, const NodeMap& map) {
  const Elements nothing{.space = Space::kScratch, .element = ElementType::kBytes};
  const Blocks none{.space = Space::kScratch, .element = ElementType::kBytes};
  const Subset node = node_of(map, rank);
  among(schedule, node, {}, [&](Member self) { gather_binomial(schedule, self, 0, nothing, none); });
  if (node.self == 0)
    among(schedule, leaders_of(map, rank), {}, [&](Member self) { barrier_dissemination(schedule, self); });
  among(schedule, node, {}, [&](Member self) { bcast_binomial(schedule, self, 0, nothing); });
}

void hierarchical_bcast(Schedule& schedule, int rank, int root, const NodeMap& map, const Elements& data,
                        const BcastPart& within, const BcastPart& between) {
  const Subset leaders = leaders_of(map, rank, root);
  if (leaders.self >= 0)
    among(schedule, leaders, {}, [&](Member self) { between(schedule, self, map.node_of(root), data); });
  const Subset node = node_of(map, rank);
  among(schedule, node, {},
        [&](Member self) { within(schedule, self, leader_in_node(map, map.node_of(rank), root), data); });
}

void hierarchical_reduce(Schedule& schedule, int rank, int root, const NodeMap& map, const Reduction& data,
                         const ReducePart& within, const ReducePart& between) {
  const Subset node = node_of(map, rank);
  const Subset leaders = leaders_of(map, rank, root);
  const bool is_root = rank == root;
  const bool alone = node.size() == 1;
  Buffers
      buffers;  // of the part within: a leader's sum goes to the result at the root, else to scratch memory
  if (leaders.self >= 0 && !is_root && !alone)
    buffers.receive = schedule.scratch_elements(data.count, data.type);
  if (!alone) {
    among(schedule, node, buffers,
          [&](Member self) { within(schedule, self, leader_in_node(map, map.node_of(rank), root), data); });
  }
  if (leaders.self < 0) return;
  Reduction sums = data;
  Buffers of_leaders;
  if (!alone) {
    sums.in_place = is_root;
    of_leaders.send = buffers.receive;
  }
  among(schedule, leaders, of_leaders,
        [&](Member self) { between(schedule, self, map.node_of(root), sums); });
}

void hierarchical_allreduce(Schedule& schedule, int rank, const NodeMap& map, const Reduction& data,
                            const ReducePart& within, const AllreducePart& between, const BcastPart& spread) {
  const Subset node = node_of(map, rank);
  const bool alone = node.size() == 1;
  const bool is_leader = node.self == 0;
  if (!alone) {
    // In place counts at the root of a reduction only: elsewhere the input is a send buffer.
    Reduction part = data;
    part.in_place = data.in_place && is_leader;
    among(schedule, node, {.send = is_leader ? Place{Space::kSend, 0} : data.input()},
          [&](Member self) { within(schedule, self, 0, part); });
  }
  if (is_leader) {
    Reduction sums = data;
    sums.in_place = data.in_place || !alone;
    among(schedule, leaders_of(map, rank), {}, [&](Member self) { between(schedule, self, sums); });
  }
  const Elements result{.element = kReduced, .type = data.type, .count = data.count};
  among(schedule, node, {}, [&](Member self) { spread(schedule, self, 0, result); });
}

void allreduce_lanes(Schedule& schedule, int rank, const NodeMap& map, const Reduction& data,
                     const ReduceScatterPart& within, const AllreducePart& between,
                     const AllgatherPart& spread) {
  const Subset node = node_of(map, rank);
  const Count parts = node.size();
  std::vector<Count> counts, firsts;  // elements of each slice, and before it
  for (Count part = 0; part < parts; ++part) {
    firsts.push_back(data.count / parts * part + std::min(part, data.count % parts));
    counts.push_back(data.count / parts + (part < data.count % parts ? 1 : 0));
  }
  const auto own = static_cast<std::size_t>(node.self);
  const Blocks slices{.element = kReduced,
                      .type = data.type,
                      .counts = CountArray(counts.data()),
                      .displacements = CountArray(firsts.data()),
                      .displacement_bytes = data.type.extent};
  // The node's sum of the own slice goes to a room, and the sum of all from there to its place in the result.
  const Place room = schedule.scratch_elements(counts[own], data.type);
  Reduction part = data;
  part.in_place = false;
  among(schedule, node, {.send = data.input(), .receive = room},
        [&](Member self) { within(schedule, self, part, slices); });
  part.count = counts[own];
  Subset lane{{}, map.node_of(rank)};
  for (int other = 0; other < map.nodes(); ++other) lane.ranks.push_back(map.ranks_of(other)[own]);
  among(schedule, lane, {.send = room, .receive = slices.place_of(node.self)},
        [&](Member self) { between(schedule, self, part); });
  const Elements slice{.element = kReduced, .type = data.type, .count = counts[own], .in_place = true};
  among(schedule, node, {}, [&](Member self) { spread(schedule, self, slice, slices); });
}

}  // namespace tasuki

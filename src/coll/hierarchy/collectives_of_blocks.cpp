// The hierarchical collectives that move blocks: see coll/hierarchy/collectives.hpp.
//
// Words: ranks in *node order* are those of node 0, of node 1 and so on. Blocks are *packed* as bytes, one
// after the other, in that order.
#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "coll/hierarchy/collectives.hpp"

namespace tasuki::hierarchy {
namespace {

Blocks byte_blocks_at(Space space, Count block) {
  return {.space = space, .element = ElementType::kBytes, .count = block};
}

/// A block, as what a rank sends from a buffer that begins with it.
Elements block_to_send(const Blocks& all, int rank) {
  return {.space = Space::kSend, .element = all.element, .type = all.type, .count = all.count_of(rank)};
}

/// Calls `copy(offset, bytes, place, count)`, with an offset in packed bytes and a place among `all`, for
/// each run of blocks that are equal and lie in the same order in both.
template <class Copy>
void for_runs(const NodeMap& map, const Blocks& all, Copy&& copy) {
  const std::span<const int> order = map.ranks_by_node();
  Count offset = 0;
  for (std::size_t begin = 0; begin < order.size();) {
    const int first = order[begin];
    std::size_t end = begin + 1;
    while (all.uniform() && end < order.size() && order[end] == order[end - 1] + 1) ++end;
    const Count count = static_cast<Count>(end - begin) * all.count_of(first);
    copy(offset, count * all.type.size, all.place_of(first), count);
    offset += count * all.type.size;
    begin = end;
  }
}
void pack(Parts& parts, const Blocks& all, Place packed) {
  for_runs(parts.map, all, [&](Count offset, Count bytes, Place from, Count count) {
    parts.schedule.copy(from, count, all.element, packed + offset, bytes, ElementType::kBytes);
  });
}
void unpack(Parts& parts, Place packed, const Blocks& all) {
  for_runs(parts.map, all, [&](Count offset, Count bytes, Place to, Count count) {
    parts.schedule.copy(packed + offset, bytes, ElementType::kBytes, to, count, all.element);
  });
}

/// At a carrier, the blocks of a gather or scatter in node order: those of its node, and at the root those of
/// all nodes. They lie in the root's buffer itself where that has them in this order, else packed in scratch
/// memory.
struct NodeOrder {
  bool is_packed = false;
  Place begin;          // of all that this rank has
  Place of_own_node;    // the first of its node's
  Blocks ranks, nodes;  // the node's ranks' blocks; all nodes' blocks
  Elements own_node;    // one of these

  NodeOrder(Parts& parts, const CallData& data, Space space) {
    if (!parts.carries()) return;
    const NodeMap& map = parts.map;
    const bool is_root = parts.is_root();
    const Count block = is_root ? data.blocks.bytes_of(parts.root()) : data.elements.bytes();
    is_packed = is_root && !map.is_consecutive();
    const bool is_direct = is_root && map.is_consecutive();
    ranks = is_direct ? data.blocks : byte_blocks_at(space, block);
    begin =
        is_direct ? Place{space, 0} : parts.schedule.scratch((is_root ? map.size() : parts.ranks()) * block);
    of_own_node = begin;
    if (is_root) of_own_node = begin + ranks.place_of(position_of(map, parts.own_node())).offset;
    own_node = {.space = space == Space::kSend ? Space::kReceive : Space::kSend,
                .element = ranks.element,
                .type = ranks.type,
                .count = parts.ranks() * ranks.count,
                .in_place = is_root};
    nodes = ranks;
    nodes.count = own_node.count;
    if (map.is_uniform()) return;
    std::vector<Count> counts;
    for (int node = 0; node < map.nodes(); ++node) counts.push_back(map.ranks_on(node) * ranks.count);
    nodes = parts.in_a_row(ranks, std::move(counts));
  }
};

}  // namespace

void gather(Parts& parts, const CallData& data) {
  const NodeOrder order(parts, data, Space::kReceive);
  Elements mine = data.elements;
  Place from = mine.place();
  if (mine.in_place && order.is_packed) {
    mine = block_to_send(data.blocks, parts.rank);
    from = data.blocks.place_of(parts.rank);
  }
  parts.on_node(Operation::kGather, {.elements = mine, .blocks = order.ranks},
                {.send = from, .receive = order.of_own_node});
  parts.on_carriers(parts.map.is_uniform() ? Operation::kGather : Operation::kGatherv,
                    {.elements = order.own_node, .blocks = order.nodes},
                    {.send = order.of_own_node, .receive = order.begin});
  if (order.is_packed) unpack(parts, order.begin, data.blocks);
}

void scatter(Parts& parts, const CallData& data) {
  const NodeOrder order(parts, data, Space::kSend);
  if (order.is_packed) pack(parts, data.blocks, order.begin);
  parts.on_carriers(parts.map.is_uniform() ? Operation::kScatter : Operation::kScatterv,
                    {.elements = order.own_node, .blocks = order.nodes},
                    {.send = order.begin, .receive = order.of_own_node});
  parts.on_node(Operation::kScatter, {.elements = data.elements, .blocks = order.ranks},
                {.send = order.of_own_node});
}

void allgather(Parts& parts, const CallData& data) {
  const Blocks& all = data.blocks;
  const NodeMap& map = parts.map;
  std::vector<Count> of_ranks, of_nodes;  // bytes: of each rank of this node, of each node
  for (int node = 0; node < map.nodes(); ++node) {
    of_nodes.push_back(0);
    for (const int rank : map.ranks_of(node)) {
      of_nodes.back() += all.bytes_of(rank);
      if (node == parts.own_node()) of_ranks.push_back(all.bytes_of(rank));
    }
  }
  Blocks ranks = byte_blocks_at(Space::kReceive, of_ranks[0]);
  Blocks nodes = byte_blocks_at(Space::kReceive, of_nodes[0]);
  if (!all.uniform()) ranks = parts.in_a_row(ranks, std::move(of_ranks));
  if (!all.uniform() || !map.is_uniform()) nodes = parts.in_a_row(nodes, std::move(of_nodes));
  const Count bytes = nodes.elements_before(map.nodes());
  const bool is_packed = !map.is_consecutive() || !all.uniform() || !all.type.contiguous;
  const Place begin = is_packed ? parts.schedule.scratch(bytes) : all.place_of(0);
  const Place of_own_node = begin + nodes.place_of(parts.own_node()).offset;

  Elements own = data.elements;
  Place from = own.place();
  if (own.in_place) {
    own = block_to_send(all, parts.rank);
    from = all.place_of(parts.rank);
  }
  if (parts.carries()) {  // its own block lies where the node's are gathered
    const Place to = of_own_node + ranks.place_of(parts.own_index()).offset;
    if (!(from == to))
      parts.schedule.copy(from, own.count, own.element, to, all.bytes_of(parts.rank), ElementType::kBytes);
    own.in_place = true;
  }
  parts.on_node(all.uniform() ? Operation::kGather : Operation::kGatherv, {.elements = own, .blocks = ranks},
                {.send = from, .receive = of_own_node});
  Elements own_node = bytes_at(Space::kSend, 0);
  own_node.in_place = true;
  parts.on_carriers(Operation::kAllgather, {.elements = own_node, .blocks = nodes}, {.receive = begin});
  parts.on_node(Operation::kBcast, {.elements = bytes_at(Space::kReceive, bytes)}, {.receive = begin});
  if (is_packed) unpack(parts, begin, all);
}

void alltoall(Parts& parts, const CallData& data) {
  const Blocks& out = data.out;
  const NodeMap& map = parts.map;
  const Count ranks = parts.ranks(), nodes = map.nodes();
  const Count block = data.blocks.bytes_of(0), sent = out.bytes_of(0);  // the same, where the call is right
  const Place leaving = parts.schedule.scratch(map.size() * std::max(block, sent));
  const Place coming = parts.schedule.scratch(map.size() * block);
  // To each rank of the node what it is to pass on along its lane, by node.
  for (Count index = 0; index < ranks; ++index) {
    for (Count node = 0; node < nodes; ++node) {
      const int peer = map.ranks_of(static_cast<int>(node))[static_cast<std::size_t>(index)];
      parts.schedule.copy(out.place_of(peer), out.count, out.element, leaving + (index * nodes + node) * sent,
                          sent, ElementType::kBytes);
    }
  }
  parts.on_node(Operation::kAlltoall,
                {.out = byte_blocks_at(Space::kSend, nodes * sent),
                 .blocks = byte_blocks_at(Space::kReceive, nodes * block)},
                {.send = leaving, .receive = coming});
  // To each node, by sender.
  for (Count node = 0; node < nodes; ++node) {
    for (Count index = 0; index < ranks; ++index)
      parts.schedule.copy(coming + (index * nodes + node) * block, block, ElementType::kBytes,
                          leaving + (node * ranks + index) * block, block, ElementType::kBytes);
  }
  parts.on_lanes(Operation::kAlltoall,
                 {.out = byte_blocks_at(Space::kSend, ranks * block),
                  .blocks = byte_blocks_at(Space::kReceive, ranks * block)},
                 {.send = leaving, .receive = coming});
  unpack(parts, coming, data.blocks);
}

}  // namespace tasuki::hierarchy

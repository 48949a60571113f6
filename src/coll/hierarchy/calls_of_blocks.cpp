// The hierarchical calls that move blocks: see coll/hierarchy/calls.hpp. Words:
// coll/hierarchy/packed_blocks.hpp.
#include <algorithm>
#include <cstring>

#include "coll/hierarchy/packed_blocks.hpp"
#include "coll/hierarchy/part_calls.hpp"
#include "datatype/datatype.hpp"

namespace tasuki::hierarchy {
namespace {

/// Some elements in a buffer.
struct Span {
  void* at = nullptr;
  Count count = 0;
  Datatype* type = nullptr;
};

/// A rank's own data, as its calls take it.
Span own_data(const Calls& call, const Elements& mine, const Place& place) {
  if (mine.in_place) return {kInPlace, 0, nullptr};
  return {call.at(place), mine.count, call.type(mine.element)};
}

/// Blocks of all ranks to and from bytes in node order at `packed`.
void pack(const Calls& call, const Blocks& blocks, std::byte* packed) {
  const Count block = blocks.bytes_of(0);
  hierarchy::for_runs(call.map(), 0, call.map().size(), [&](int position, int first, int run) {
    copy_typed(call.at(blocks.place_of(first)), run * blocks.count, *call.type(blocks.element),
               packed + position * block, run * block, *call.byte());
  });
}
void unpack(const Calls& call, const std::byte* packed, const Blocks& blocks) {
  const Count block = blocks.bytes_of(0);
  hierarchy::for_runs(call.map(), 0, call.map().size(), [&](int position, int first, int run) {
    copy_typed(packed + position * block, run * block, *call.byte(), call.at(blocks.place_of(first)),
               run * blocks.count, *call.type(blocks.element));
  });
}

/// The blocks of a gather or scatter, in the order of nodes. Where that is the order of ranks, they go
/// straight from or to their places at the root.
struct NodeOrder {
  bool is_root;
  bool direct;
  Count block;   // bytes
  Count ranks;   // on a node
  Count before;  // blocks of the nodes before the root's
  Place room;    // else, for the blocks that this rank passes on

  Code open(BoundSchedule& bound, const Calls& call, int root, const Elements& mine, const Blocks& all) {
    is_root = call.is_root();
    direct = is_root && call.map().is_consecutive();
    block = is_root ? all.bytes_of(root) : mine.bytes();
    ranks = call.node()->size();
    before = call.root_node() * ranks;
    if (!call.carries() || direct) return 0;
    room = bound.schedule.scratch((is_root ? call.map().size() : ranks) * block);
    return bound.take_scratch();
  }
};

}  // namespace

Code gather(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Elements& mine, const Blocks& all) {
  Calls call(bound, hierarchy, root);
  Process& process = call.process();
  NodeOrder order;
  if (const Code code = order.open(bound, call, root, mine, all); code != 0) return code;
  const auto [is_root, direct, block, ranks, before, room] = order;
  Span own = own_data(call, mine, mine.place());
  Span of_node{nullptr, block, call.byte()};
  if (direct) {
    of_node = {call.at(all.place_of(static_cast<int>(before))), all.count, call.type(all.element)};
  } else if (call.carries()) {
    of_node.at = call.at(room + (is_root ? before * block : 0));
    if (is_root && mine.in_place) own = {call.at(all.place_of(root)), all.count, call.type(all.element)};
  }
  call(api::gather(process, own.at, own.count, own.type, of_node.at, of_node.count, of_node.type,
                   call.carrier(), call.node()));
  if (!call.carries()) return call.error();
  void* to = nullptr;
  if (is_root) to = call.at(direct ? all.place_of(0) : room);
  call(api::gather(process, is_root ? kInPlace : of_node.at, ranks * block, call.byte(), to,
                   ranks * of_node.count, of_node.type, call.root_node(), call.lane()));
  if (is_root && !direct) unpack(call, call.at(room), all);
  return call.error();
}

Code scatter(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Blocks& all, const Elements& mine) {
  Calls call(bound, hierarchy, root);
  Process& process = call.process();
  NodeOrder order;
  if (const Code code = order.open(bound, call, root, mine, all); code != 0) return code;
  const auto [is_root, direct, block, ranks, before, room] = order;
  Span of_node{nullptr, block, call.byte()};
  if (call.carries()) {
    if (is_root && !direct) pack(call, all, call.at(room));
    if (direct) of_node = {nullptr, all.count, call.type(all.element)};
    void* from = nullptr;
    if (is_root) from = call.at(direct ? all.place_of(0) : room);
    void* to = is_root ? kInPlace : call.at(room);
    call(api::scatter(process, from, ranks * of_node.count, of_node.type, to, ranks * block, call.byte(),
                      call.root_node(), call.lane()));
    if (is_root) to = call.at(direct ? all.place_of(static_cast<int>(before)) : room + before * block);
    of_node.at = to;
  }
  const Span own = own_data(call, mine, mine.place());
  call(api::scatter(process, of_node.at, of_node.count, of_node.type, own.at, own.count, own.type,
                    call.carrier(), call.node()));
  return call.error();
}

Code allgather(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Elements& mine,
               const Blocks& all) {
  Calls call(bound, hierarchy, root);
  Process& process = call.process();
  const NodeMap& map = call.map();
  const int rank = map.own_ranks()[static_cast<std::size_t>(call.node()->rank)];
  const hierarchy::Packed packed(bound.schedule, map, all);
  if (const Code code = bound.take_scratch(); code != 0) return code;
  const int first = hierarchy::position_of(map, map.own_node());
  Span own = mine.in_place ? Span{call.at(all.place_of(rank)), all.count_of(rank), call.type(all.element)}
                           : own_data(call, mine, mine.place());
  std::byte* of_node = call.at(packed.at(first));
  if (call.carries()) {  // whose block is the node's first
    if (!mine.in_place || !packed.direct())
      call.copy_own(own.at, own.count, *own.type, of_node, all.bytes_of(rank), *call.byte());
    own = {kInPlace, 0, nullptr};
  }
  const hierarchy::Packed::Parts of_ranks = packed.of_ranks(map.own_node());
  call.on_node([&] {
    if (all.uniform()) {
      return api::gather(process, own.at, own.count, own.type, of_node, all.bytes_of(rank), call.byte(),
                         call.carrier(), call.node());
    }
    return api::gatherv(process, own.at, own.count, own.type, of_node, CountArray(of_ranks.counts.data()),
                        CountArray(of_ranks.displacements.data()), call.byte(), call.carrier(), call.node());
  });
  std::byte* everything = call.at(packed.begin());
  if (call.carries()) {
    const hierarchy::Packed::Parts of_nodes = packed.of_nodes();
    call(all.uniform() && map.is_uniform()
             ? api::allgather(process, kInPlace, 0, nullptr, everything, of_nodes.counts[0], call.byte(),
                              call.lane())
             : api::allgatherv(process, kInPlace, 0, nullptr, everything, CountArray(of_nodes.counts.data()),
                               CountArray(of_nodes.displacements.data()), call.byte(), call.lane()));
  }
  call.on_node([&] {
    return api::bcast(process, everything, packed.bytes(), call.byte(), call.carrier(), call.node());
  });
  if (packed.direct()) return call.error();
  for (int position = 0; position < map.size(); ++position) {
    const int from = map.ranks_by_node()[static_cast<std::size_t>(position)];
    copy_typed(call.at(packed.at(position)), all.bytes_of(from), *call.byte(), call.at(all.place_of(from)),
               all.count_of(from), *call.type(all.element));
  }
  return call.error();
}

Code alltoall(BoundSchedule& bound, Hierarchy& hierarchy, int root, const Blocks& out, const Blocks& in) {
  Calls call(bound, hierarchy, root);
  Process& process = call.process();
  const NodeMap& map = call.map();
  const Count ranks = call.node()->size(), nodes = map.nodes();
  const Count block = in.bytes_of(0), sent = out.bytes_of(0);  // the same, where the call is right
  const Place leaving = bound.schedule.scratch(map.size() * std::max(block, sent));
  const Place coming = bound.schedule.scratch(map.size() * block);
  if (const Code code = bound.take_scratch(); code != 0) return code;
  std::byte* from = call.at(leaving);
  std::byte* to = call.at(coming);
  // To each rank of the node what it is to hand on along its lane, by node.
  for (Count number = 0; number < ranks; ++number) {
    for (Count node = 0; node < nodes; ++node) {
      const int peer = map.ranks_of(static_cast<int>(node))[static_cast<std::size_t>(number)];
      copy_typed(call.at(out.place_of(peer)), out.count, *call.type(out.element),
                 from + (number * nodes + node) * sent, sent, *call.byte());
    }
  }
  call(api::alltoall(process, from, nodes * sent, call.byte(), to, nodes * block, call.byte(), call.node()));
  // To each node, by sender.
  for (Count node = 0; node < nodes; ++node) {
    for (Count number = 0; number < ranks; ++number)
      std::memcpy(from + (node * ranks + number) * block, to + (number * nodes + node) * block,
                  static_cast<std::size_t>(block));
  }
  call(api::alltoall(process, from, ranks * block, call.byte(), to, ranks * block, call.byte(), call.lane()));
  unpack(call, to, in);
  return call.error();
}

}  // namespace tasuki::hierarchy

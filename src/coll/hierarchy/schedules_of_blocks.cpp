// The hierarchical collectives that move blocks: see coll/hierarchy/schedules.hpp.
#include <algorithm>
#include <vector>

#include "coll/hierarchy/packed_blocks.hpp"
#include "coll/hierarchy/schedules.hpp"
#include "coll/hierarchy/subset.hpp"

namespace tasuki {

using namespace hierarchy;

namespace {

constexpr Count kWindowBytes =
    256 * 1024;  // how much of a pairwise exchange a leader has under way at a time

/// Whether a node's ranks are one run.
bool is_run(const NodeMap& map, int node) {
  const std::span<const int> ranks = map.ranks_of(node);
  return ranks.back() - ranks.front() + 1 == static_cast<int>(ranks.size());
}

/// The root's part of a gather: straight from its own node's ranks, and from the leaders of the others.
void gather_at_root(Schedule& schedule, int root, const NodeMap& map, const Elements& mine,
                    const Blocks& all) {
  const Count block = all.bytes_of(root);
  if (!mine.in_place)
    schedule.copy(mine.place(), mine.count, mine.element, all.place_of(root), all.count, all.element);
  std::vector<Place> held(static_cast<std::size_t>(map.nodes()));
  for (int node = 0; node < map.nodes(); ++node) {
    const Count ranks = map.ranks_on(node);
    if (node == map.node_of(root)) {
      for (const int peer : map.ranks_of(node)) {
        if (peer != root) schedule.receive(all.place_of(peer), all.count, all.element, peer);
      }
    } else if (is_run(map, node)) {
      const int leader = map.leader_of(node);
      schedule.receive(all.place_of(leader), ranks * all.count, all.element, leader);
    } else {
      Place& room = held[static_cast<std::size_t>(node)] = schedule.scratch(ranks * block);
      schedule.receive(room, ranks * block, ElementType::kBytes, map.leader_of(node));
    }
  }
  schedule.end_round();
  for (int node = 0; node < map.nodes(); ++node) {
    if (node == map.node_of(root) || is_run(map, node)) continue;
    const int begin = position_of(map, node);
    for_runs(map, begin, begin + map.ranks_on(node), [&](int position, int first, int ranks) {
      schedule.copy(held[static_cast<std::size_t>(node)] + (position - begin) * block, ranks * block,
                    ElementType::kBytes, all.place_of(first), ranks * all.count, all.element);
    });
  }
  schedule.end_round();
}

/// The root's part of a scatter: to the leaders of the other nodes, then to its own node's ranks.
void scatter_at_root(Schedule& schedule, int root, const NodeMap& map, const Blocks& all,
                     const Elements& mine) {
  const Count block = all.bytes_of(root);
  for (int node = 0; node < map.nodes(); ++node) {
    if (node == map.node_of(root)) continue;
    const Count ranks = map.ranks_on(node);
    const int leader = map.leader_of(node);
    if (is_run(map, node)) {
      schedule.send(all.place_of(leader), ranks * all.count, all.element, leader);
      continue;
    }
    const Place held = schedule.scratch(ranks * block);
    const int begin = position_of(map, node);
    for_runs(map, begin, begin + map.ranks_on(node), [&](int position, int first, int run) {
      schedule.copy(all.place_of(first), run * all.count, all.element, held + (position - begin) * block,
                    run * block, ElementType::kBytes);
    });
    schedule.send(held, ranks * block, ElementType::kBytes, leader);
  }
  for (const int peer : map.ranks_of(map.node_of(root))) {
    if (peer != root) schedule.send(all.place_of(peer), all.count, all.element, peer);
  }
  if (!mine.in_place)
    schedule.copy(all.place_of(root), all.count, all.element, mine.place(), mine.count, mine.element);
  schedule.end_round();
}

}  // namespace

void hierarchical_gather(Schedule& schedule, int rank, int root, const NodeMap& map, const Elements& mine,
                         const Blocks& all, const GatherPart& within) {
  if (rank == root) return gather_at_root(schedule, root, map, mine, all);
  const Subset node = node_of(map, rank);
  if (map.node_of(rank) == map.node_of(root) || node.size() == 1) {
    schedule.send(mine.place(), mine.count, mine.element, root);
    return schedule.end_round();
  }
  const Count block = mine.bytes();
  const bool is_leader = node.self == 0;
  const Place held = is_leader ? schedule.scratch(node.size() * block) : Place{};
  among(schedule, node, {.receive = held}, [&](Member self) {
    within(schedule, self, 0, mine, is_leader ? blocks_at(Space::kReceive, block) : Blocks{});
  });
  if (is_leader) schedule.send(held, node.size() * block, ElementType::kBytes, root);
  schedule.end_round();
}

void hierarchical_scatter(Schedule& schedule, int rank, int root, const NodeMap& map, const Blocks& all,
                          const Elements& mine, const ScatterPart& within) {
  if (rank == root) return scatter_at_root(schedule, root, map, all, mine);
  const Subset node = node_of(map, rank);
  if (map.node_of(rank) == map.node_of(root) || node.size() == 1) {
    schedule.receive(mine.place(), mine.count, mine.element, root);
    return schedule.end_round();
  }
  const Count block = mine.bytes();
  const bool is_leader = node.self == 0;
  const Place held = is_leader ? schedule.scratch(node.size() * block) : Place{};
  if (is_leader) schedule.receive(held, node.size() * block, ElementType::kBytes, root);
  among(schedule, node, {.send = held}, [&](Member self) {
    within(schedule, self, 0, is_leader ? blocks_at(Space::kSend, block) : Blocks{}, mine);
  });
}

void hierarchical_allgather(Schedule& schedule, int rank, const NodeMap& map, const Elements& mine,
                            const Blocks& all, const GatherPart& within, const AllgatherPart& between,
                            const BcastPart& spread) {
  const Packed packed(schedule, map, all);
  const Subset node = node_of(map, rank);
  const int first = position_of(map, map.node_of(rank));
  const Place own = packed.at(first + node.self);
  const Count own_bytes = all.bytes_of(rank);
  if (!mine.in_place)
    schedule.copy(mine.place(), mine.count, mine.element, all.place_of(rank), all.count_of(rank),
                  all.element);
  if (!packed.direct())
    schedule.copy(all.place_of(rank), all.count_of(rank), all.element, own, own_bytes, ElementType::kBytes);

  Elements own_block = bytes_at(Space::kSend, own_bytes);
  own_block.in_place = node.self == 0;  // it lies where it is gathered
  const Packed::Parts of_ranks = packed.of_ranks(map.node_of(rank));
  among(schedule, node, {.send = own, .receive = packed.at(first)}, [&](Member self) {
    if (all.uniform()) {
      within(schedule, self, 0, own_block, blocks_at(Space::kReceive, own_bytes));
    } else {
      gather_linear(schedule, self, 0, own_block, of_ranks.blocks());
    }
  });
  if (node.self == 0) {
    const Packed::Parts of_nodes = packed.of_nodes();
    const Blocks blocks = map.is_uniform() && all.uniform() ? blocks_at(Space::kReceive, of_nodes.counts[0])
                                                            : of_nodes.blocks();
    Elements of_node = bytes_at(Space::kSend, 0);
    of_node.in_place = true;
    among(schedule, leaders_of(map, rank), {.receive = packed.begin()},
          [&](Member self) { between(schedule, self, of_node, blocks); });
  }
  among(schedule, node, {.receive = packed.begin()},
        [&](Member self) { spread(schedule, self, 0, bytes_at(Space::kReceive, packed.bytes())); });
  if (packed.direct()) return;
  for_runs(map, 0, map.size(), [&](int position, int first_rank, int run) {
    const int ranks = all.uniform() ? run : 1;
    for (int done = 0; done < run; done += ranks) {
      const int from = first_rank + done;
      schedule.copy(packed.at(position + done),
                    packed.bytes_between(position + done, position + done + ranks), ElementType::kBytes,
                    all.place_of(from), ranks * all.count_of(from), all.element);
    }
  });
  schedule.end_round();
}

namespace {

/// The leader's part of an all-to-all between the nodes. `rows`: what each of its m ranks sends, in node
/// order; afterwards, what each of them receives. Between two nodes goes one message with the blocks of each
/// pair of ranks, by sender, then by receiver.
void exchange_between_nodes(Schedule& schedule, int rank, const NodeMap& map, Place rows, Count block) {
  const Count ranks = map.ranks_on(map.node_of(rank));
  const Count row = map.size() * block;
  const bool alone = ranks == 1;  // then a row has just what goes to each node, and what comes from it
  const Place leaving = alone ? rows : schedule.scratch(ranks * row);
  const Place coming = schedule.scratch(ranks * row);
  std::vector<Count> counts, displacements;  // bytes
  for (int node = 0; node < map.nodes(); ++node) {
    displacements.push_back(ranks * position_of(map, node) * block);
    counts.push_back(ranks * map.ranks_on(node) * block);
  }
  for (int node = 0; !alone && node < map.nodes(); ++node) {
    const Count bytes = map.ranks_on(node) * block;
    for (Count from = 0; from < ranks; ++from)
      schedule.copy(rows + from * row + position_of(map, node) * block, bytes, ElementType::kBytes,
                    leaving + displacements[static_cast<std::size_t>(node)] + from * bytes, bytes,
                    ElementType::kBytes);
  }
  Blocks in{.element = ElementType::kBytes,
            .counts = CountArray(counts.data()),
            .displacements = CountArray(displacements.data()),
            .displacement_bytes = 1};
  Blocks out = in;
  out.space = Space::kSend;
  among(schedule, leaders_of(map, rank), {.send = leaving, .receive = coming},
        [&](Member self) { alltoall_pairwise(schedule, self, out, in, kWindowBytes); });
  for (int node = 0; node < map.nodes(); ++node) {
    const Place from_node = coming + displacements[static_cast<std::size_t>(node)];
    const Count senders = map.ranks_on(node);
    for (Count to = 0; to < ranks; ++to) {
      Place place = rows + to * row + position_of(map, node) * block;
      for (Count from = 0; from < senders; ++from, place = place + block) {
        schedule.copy(from_node + (from * ranks + to) * block, block, ElementType::kBytes, place, block,
                      ElementType::kBytes);
      }
    }
  }
  schedule.end_round();
}

}  // namespace

void hierarchical_alltoall(Schedule& schedule, int rank, const NodeMap& map, const Blocks& out,
                           const Blocks& in, const GatherPart& collect, const ScatterPart& spread) {
  const Count block = in.bytes_of(0);
  const Count row = map.size() * block;
  const Subset node = node_of(map, rank);
  const bool is_leader = node.self == 0;
  const Place rows = schedule.scratch((is_leader ? node.size() : 1) * row);  // the leader's own is the first
  for_runs(map, 0, map.size(), [&](int position, int first, int run) {
    schedule.copy(out.place_of(first), run * out.count, out.element, rows + position * block, run * block,
                  ElementType::kBytes);
  });
  Elements own = bytes_at(Space::kSend, row);
  own.in_place = is_leader;
  among(schedule, node, {.send = rows, .receive = rows},
        [&](Member self) { collect(schedule, self, 0, own, blocks_at(Space::kReceive, row)); });
  if (is_leader) exchange_between_nodes(schedule, rank, map, rows, block);
  own.space = Space::kReceive;
  among(schedule, node, {.send = rows, .receive = rows},
        [&](Member self) { spread(schedule, self, 0, blocks_at(Space::kSend, row), own); });
  for_runs(map, 0, map.size(), [&](int position, int first, int run) {
    schedule.copy(rows + position * block, run * block, ElementType::kBytes, in.place_of(first),
                  run * in.count, in.element);
  });
  schedule.end_round();
}

}  // namespace tasuki

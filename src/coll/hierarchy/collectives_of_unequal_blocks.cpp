// The hierarchical collectives whose blocks differ: see coll/hierarchy/collectives.hpp.
//
// In these no rank knows all sizes. So the ranks of a node tell each other, before the parts, how long the
// blocks are that they pass on (Parts::tell_node, swap_on_node). A block that is *long* is not passed on: it
// goes straight from its sender to its receiver, which both know its size, so no other rank has to know. The
// short ones go packed as bytes, in node order.
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "coll/hierarchy/collectives.hpp"

namespace tasuki::hierarchy {
namespace {

/// Up to here a message between nodes takes about as long as an empty one.
constexpr Count kShortBytesMax = 8192;

bool is_long(Count bytes) {
  return bytes > kShortBytesMax;
}
Count short_bytes(Count bytes) {
  return is_long(bytes) ? 0 : bytes;
}

Blocks byte_blocks_at(Parts& parts, Space space, std::vector<Count> bytes) {
  return parts.in_a_row({.space = space, .element = ElementType::kBytes}, std::move(bytes));
}
Count sum_of(const std::vector<Count>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), Count{0});
}

/// The root's blocks of its own node's ranks, in its buffer.
Blocks blocks_of_own_node(Parts& parts, const Blocks& all) {
  std::vector<Count> counts, displacements;
  for (const int rank : parts.map.ranks_of(parts.own_node())) {
    counts.push_back(all.counts[static_cast<std::size_t>(rank)]);
    displacements.push_back(all.displacements[static_cast<std::size_t>(rank)]);
  }
  Blocks blocks = all;
  blocks.counts = parts.keep(std::move(counts));
  blocks.displacements = parts.keep(std::move(displacements));
  return blocks;
}

/// At the root: bytes of the short blocks of each node, and none of its own.
std::vector<Count> short_bytes_of_nodes(const Parts& parts, const Blocks& all) {
  std::vector<Count> bytes;
  for (int node = 0; node < parts.map.nodes(); ++node) {
    bytes.push_back(0);
    if (node == parts.own_node()) continue;
    for (const int rank : parts.map.ranks_of(node)) bytes.back() += short_bytes(all.bytes_of(rank));
  }
  return bytes;
}

/// Calls `visit(rank)` with each rank of another node than the root's, in node order.
template <class Visit>
void for_far(const Parts& parts, Visit&& visit) {
  const int near = parts.map.node_of(parts.root());
  for (const int rank : parts.map.ranks_by_node())
    if (parts.map.node_of(rank) != near) visit(rank);
}

}  // namespace

void gatherv(Parts& parts, const CallData& data) {
  const Blocks& all = data.blocks;
  Schedule& schedule = parts.schedule;
  const bool is_near = parts.own_node() == parts.map.node_of(parts.root());
  if (parts.is_root()) {
    for_far(parts, [&](int rank) {
      if (is_long(all.bytes_of(rank)))
        schedule.receive(all.place_of(rank), all.count_of(rank), all.element, rank);
    });
  }
  if (is_near) {
    parts.on_node(
        Operation::kGatherv,
        {.elements = data.elements, .blocks = parts.is_root() ? blocks_of_own_node(parts, all) : Blocks{}});
  }
  Elements mine = data.elements;
  if (!is_near && is_long(mine.bytes())) {
    schedule.send(mine.place(), mine.count, mine.element, parts.root());
    mine.count = 0;
  }
  Count own_bytes = 0;  // of the node's short blocks
  Place packed;         // these, at the carrier
  if (!is_near) {
    std::vector<Count> bytes = parts.tell_node(mine.bytes());
    own_bytes = sum_of(bytes);
    Blocks ranks;
    if (parts.carries()) {
      packed = schedule.scratch(own_bytes);
      ranks = byte_blocks_at(parts, Space::kReceive, std::move(bytes));
    }
    parts.on_node(Operation::kGatherv, {.elements = mine, .blocks = ranks}, {.receive = packed});
  }
  Blocks nodes;
  Place coming;  // at the root
  if (parts.is_root()) {
    std::vector<Count> bytes = short_bytes_of_nodes(parts, all);
    coming = schedule.scratch(sum_of(bytes));
    nodes = byte_blocks_at(parts, Space::kReceive, std::move(bytes));
  }
  Elements own_node = bytes_at(Space::kSend, own_bytes);
  own_node.in_place = parts.is_root();
  parts.on_carriers(Operation::kGatherv, {.elements = own_node, .blocks = nodes},
                    {.send = packed, .receive = coming});
  schedule.end_round();
  if (!parts.is_root()) return;
  for_far(parts, [&](int rank) {
    const Count bytes = short_bytes(all.bytes_of(rank));
    if (bytes == 0) return;
    schedule.copy(coming, bytes, ElementType::kBytes, all.place_of(rank), all.count_of(rank), all.element);
    coming = coming + bytes;
  });
}

void scatterv(Parts& parts, const CallData& data) {
  const Blocks& all = data.blocks;
  Schedule& schedule = parts.schedule;
  const bool is_near = parts.own_node() == parts.map.node_of(parts.root());
  Elements mine = data.elements;
  if (!is_near && is_long(mine.bytes())) {
    schedule.receive(mine.place(), mine.count, mine.element, parts.root());
    mine.count = 0;
  }
  Blocks nodes;
  Place leaving;  // at the root: the short blocks of the other nodes
  if (parts.is_root()) {
    std::vector<Count> bytes = short_bytes_of_nodes(parts, all);
    leaving = schedule.scratch(sum_of(bytes));
    Place to = leaving;
    for_far(parts, [&](int rank) {
      const Count count = all.count_of(rank), block = all.bytes_of(rank);
      if (is_long(block)) return schedule.send(all.place_of(rank), count, all.element, rank);
      if (block == 0) return;
      schedule.copy(all.place_of(rank), count, all.element, to, block, ElementType::kBytes);
      to = to + block;
    });
    nodes = byte_blocks_at(parts, Space::kSend, std::move(bytes));
  }
  std::vector<Count> bytes;  // of the short blocks of this node's ranks
  if (!is_near) bytes = parts.tell_node(mine.bytes());
  const Count own_bytes = sum_of(bytes);
  const Place packed = parts.carries() && !is_near ? schedule.scratch(own_bytes) : Place{};
  Elements own_node = bytes_at(Space::kReceive, own_bytes);
  own_node.in_place = parts.is_root();
  parts.on_carriers(Operation::kScatterv, {.elements = own_node, .blocks = nodes},
                    {.send = leaving, .receive = packed});
  Blocks ranks;
  if (parts.is_root()) ranks = blocks_of_own_node(parts, all);
  if (parts.carries() && !is_near) ranks = byte_blocks_at(parts, Space::kSend, std::move(bytes));
  parts.on_node(Operation::kScatterv, {.elements = mine, .blocks = ranks},
                {.send = is_near ? Place{Space::kSend, 0} : packed});
}

namespace {

/// An all-to-all: the ranks of a node hand each other what the others pass on to other nodes. On a node, a
/// rank's *courier* is the one that passes on all that the node has for it, so it gets one message from
/// there.
class Couriers {
 public:
  Couriers(Parts& parts, const CallData& data) : parts_(parts), out_(data.out), in_(data.blocks) {}

  void write() {
    send_straight();
    swap_sizes();
    hand_over();
    const std::vector<Place> coming = receive_packed();
    send_packed();
    parts_.schedule.end_round();
    unpack(coming);
  }

 private:
  /// On the own node: whom `courier` serves: ranks of other nodes, and, at last, itself.
  std::vector<int> served_by(int courier) const {
    std::vector<int> served;
    for (const int rank : parts_.map.ranks_by_node()) {
      if (parts_.map.node_of(rank) != parts_.own_node() && courier_of(rank, parts_.own_node()) == courier)
        served.push_back(rank);
    }
    served.push_back(parts_.map.ranks_of(parts_.own_node())[static_cast<std::size_t>(courier)]);
    return served;
  }
  int courier_of(int rank, int node) const { return parts_.map.index_of(rank) % parts_.map.ranks_on(node); }

  Count sent_bytes(int rank) const { return rank == parts_.rank ? 0 : short_bytes(out_.bytes_of(rank)); }
  Count received_bytes(int rank) const { return rank == parts_.rank ? 0 : short_bytes(in_.bytes_of(rank)); }

  /// Long blocks, each rank with the next and the previous one first; and the own block.
  void send_straight() {
    Schedule& schedule = parts_.schedule;
    const int size = parts_.map.size();
    for (int distance = 1; distance < size; ++distance) {
      const int from = (parts_.rank + size - distance) % size, to = (parts_.rank + distance) % size;
      if (is_long(in_.bytes_of(from)))
        schedule.receive(in_.place_of(from), in_.count_of(from), in_.element, from);
      if (is_long(out_.bytes_of(to))) schedule.send(out_.place_of(to), out_.count_of(to), out_.element, to);
    }
    const int self = parts_.rank;
    schedule.copy(out_.place_of(self), out_.count_of(self), out_.element, in_.place_of(self),
                  in_.count_of(self), in_.element, self);
  }

  /// Each rank tells each courier of its node how much it has for whom.
  void swap_sizes() {
    const int ranks = parts_.ranks();
    std::vector<std::vector<int>> served;
    std::size_t most = 0;
    for (int courier = 0; courier < ranks; ++courier) {
      served.push_back(served_by(courier));
      most = std::max(most, served.back().size());
    }
    std::vector<Count> told(most * static_cast<std::size_t>(ranks));
    for (std::size_t courier = 0; courier < served.size(); ++courier) {
      for (std::size_t at = 0; at < served[courier].size(); ++at)
        told[courier * most + at] = sent_bytes(served[courier][at]);
    }
    heard_ = parts_.swap_on_node(told);
    most_ = most;
    own_served_ = served[static_cast<std::size_t>(parts_.own_index())];
    // What this rank hands over: by courier, then by whom it serves.
    leaving_ = parts_.schedule.scratch(sum_of(told));
    Place to = leaving_;
    for (std::size_t courier = 0; courier < served.size(); ++courier) {
      handed_.push_back(0);
      for (const int rank : served[courier]) {
        const Count bytes = sent_bytes(rank);
        handed_.back() += bytes;
        if (bytes == 0) continue;
        parts_.schedule.copy(out_.place_of(rank), out_.count_of(rank), out_.element, to, bytes,
                             ElementType::kBytes, rank, -1);
        to = to + bytes;
      }
    }
  }

  /// Bytes that the rank `index` of the own node has told this one for the one that it serves at `at`.
  Count heard(std::size_t index, std::size_t at) const { return heard_[index * most_ + at]; }

  void hand_over() {
    std::vector<Count> taken;
    for (std::size_t index = 0; index < handed_.size(); ++index) {
      taken.push_back(0);
      for (std::size_t at = 0; at < own_served_.size(); ++at) taken.back() += heard(index, at);
    }
    taken_ = parts_.schedule.scratch(sum_of(taken));
    if (parts_.is_alone()) {
      parts_.schedule.copy(leaving_, handed_[0], ElementType::kBytes, taken_, handed_[0],
                           ElementType::kBytes);
      return;
    }
    parts_.on_node(Operation::kAlltoallv,
                   {.out = byte_blocks_at(parts_, Space::kSend, handed_),
                    .blocks = byte_blocks_at(parts_, Space::kReceive, std::move(taken))},
                   {.send = leaving_, .receive = taken_});
  }

  /// One message from each other node that has something. Where each lies.
  std::vector<Place> receive_packed() {
    const NodeMap& map = parts_.map;
    std::vector<Place> coming(static_cast<std::size_t>(map.nodes()));
    for (int node = 0; node < map.nodes(); ++node) {
      if (node == parts_.own_node()) continue;
      Count bytes = 0;
      for (const int rank : map.ranks_of(node)) bytes += received_bytes(rank);
      if (bytes == 0) continue;
      const int courier = map.ranks_of(node)[static_cast<std::size_t>(courier_of(parts_.rank, node))];
      coming[static_cast<std::size_t>(node)] = parts_.schedule.scratch(bytes);
      parts_.schedule.receive(coming[static_cast<std::size_t>(node)], bytes, ElementType::kBytes, courier);
    }
    return coming;
  }

  /// What the node's ranks have handed to this one, by whom it serves.
  void send_packed() {
    Schedule& schedule = parts_.schedule;
    std::vector<Place> from{taken_};  // where the next block of each rank of the node lies
    for (std::size_t index = 0; index + 1 < handed_.size(); ++index) {
      Count bytes = 0;
      for (std::size_t at = 0; at < own_served_.size(); ++at) bytes += heard(index, at);
      from.push_back(from.back() + bytes);
    }
    for (std::size_t at = 0; at + 1 < own_served_.size(); ++at) {
      Count sum = 0;
      for (std::size_t index = 0; index < from.size(); ++index) sum += heard(index, at);
      if (sum == 0) continue;
      const Place packed = schedule.scratch(sum);
      Place to = packed;
      for (std::size_t index = 0; index < from.size(); ++index) {
        const Count bytes = heard(index, at);
        if (bytes > 0) schedule.copy(from[index], bytes, ElementType::kBytes, to, bytes, ElementType::kBytes);
        from[index] = from[index] + bytes;
        to = to + bytes;
      }
      schedule.send(packed, sum, ElementType::kBytes, own_served_[at]);
    }
    own_ = std::move(from);  // at last: what is for this rank itself
  }

  void unpack(std::vector<Place> coming) {
    const NodeMap& map = parts_.map;
    for (const int rank : map.ranks_by_node()) {
      const Count bytes = received_bytes(rank);
      if (bytes == 0) continue;
      Place& from = map.node_of(rank) == parts_.own_node()
                        ? own_[static_cast<std::size_t>(map.index_of(rank))]
                        : coming[static_cast<std::size_t>(map.node_of(rank))];
      parts_.schedule.copy(from, bytes, ElementType::kBytes, in_.place_of(rank), in_.count_of(rank),
                           in_.element, -1, rank);
      from = from + bytes;
    }
  }

  Parts& parts_;
  const Blocks& out_;
  const Blocks& in_;
  std::vector<Count> heard_;  // by rank of the node, then by whom this one serves
  std::size_t most_ = 0;      // numbers of each rank
  std::vector<int> own_served_;
  std::vector<Count> handed_;  // bytes to each courier
  Place leaving_, taken_;      // what is handed over, by this rank and to it
  std::vector<Place> own_;     // by rank of the node: the block for this one
};

}  // namespace

void alltoallv(Parts& parts, const CallData& data) {
  Couriers(parts, data).write();
}

}  // namespace tasuki::hierarchy

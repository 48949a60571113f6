// Recursive division along the machine, then exchanges of pairs.
#include "placement/placement.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tasuki {
namespace {

constexpr int kExchangeSweeps = 4;
constexpr std::size_t kExchangeNodesMax = 1024;  // beyond, trying all pairs takes longer than it gains

struct Neighbor {
  int node;
  std::int64_t weight;
};
using Adjacency = std::vector<std::vector<Neighbor>>;

Adjacency adjacency_of(const std::vector<PlacementEdge>& edges, std::size_t nodes) {
  Adjacency adjacency(nodes);
  for (const PlacementEdge& edge : edges) {
    if (edge.node == edge.neighbor) continue;
    adjacency[static_cast<std::size_t>(edge.node)].push_back({edge.neighbor, edge.weight});
    adjacency[static_cast<std::size_t>(edge.neighbor)].push_back({edge.node, edge.weight});
  }
  return adjacency;
}

/// What divides processes at a level: -1 stands for the machines themselves.
std::pair<std::uint64_t, std::int32_t> piece_of(const ProcessPlace& process, int level) {
  return {process.machine, level < 0 ? 0 : process.place[static_cast<std::size_t>(level)]};
}

class Placer {
 public:
  Placer(const std::vector<PlacementEdge>& edges, const std::vector<ProcessPlace>& places)
      : places_(places), adjacency_(adjacency_of(edges, places.size())), order_(places.size()) {}

  std::vector<int> run() {
    std::vector<int> all(places_.size());
    std::iota(all.begin(), all.end(), 0);
    divide(all, all, -1);
    if (all.size() <= kExchangeNodesMax) exchange();
    return order_;
  }

 private:
  const ProcessPlace& place_of(int process) const { return places_[static_cast<std::size_t>(process)]; }

  /// Gives `nodes` the `processes`, as many, which share all levels above `level`.
  void divide(const std::vector<int>& nodes, const std::vector<int>& processes, int level) {
    if (level >= kHardwareLevels || nodes.size() <= 1) {
      for (std::size_t i = 0; i < nodes.size(); ++i)
        order_[static_cast<std::size_t>(nodes[i])] = processes[i];
      return;
    }
    std::vector<std::vector<int>> pieces;
    for (const int process : processes) {
      const auto piece = piece_of(place_of(process), level);
      const auto found = std::find_if(pieces.begin(), pieces.end(), [&](const std::vector<int>& members) {
        return piece_of(place_of(members.front()), level) == piece;
      });
      if (found == pieces.end()) {
        pieces.push_back({process});
      } else {
        found->push_back(process);
      }
    }
    std::vector<int> left = nodes;
    for (const std::vector<int>& piece : pieces) divide(grow(&left, piece.size()), piece, level + 1);
  }

  /// Takes `size` nodes out of `left` that belong together: from the one that the others need least, always
  /// the one that is tied most to those taken, and least to those that stay. Returns them in ascending order.
  std::vector<int> grow(std::vector<int>* left, std::size_t size) {
    if (size == left->size()) return std::exchange(*left, {});
    std::vector<std::int64_t> inside(places_.size(), 0), outside(places_.size(), 0);
    std::vector<char> open(places_.size(), 0);
    for (const int node : *left) open[static_cast<std::size_t>(node)] = 1;
    for (const int node : *left) {
      for (const Neighbor& neighbor : adjacency_[static_cast<std::size_t>(node)]) {
        if (open[static_cast<std::size_t>(neighbor.node)] != 0)
          outside[static_cast<std::size_t>(node)] += neighbor.weight;
      }
    }
    std::vector<int> part;
    while (part.size() < size) {
      int best = -1;
      for (const int node : *left) {
        const auto i = static_cast<std::size_t>(node);
        const auto b = static_cast<std::size_t>(best);
        if (open[i] != 0 && (best < 0 || inside[i] - outside[i] > inside[b] - outside[b] ||
                             (inside[i] - outside[i] == inside[b] - outside[b] && inside[i] > inside[b])))
          best = node;
      }
      open[static_cast<std::size_t>(best)] = 0;
      part.push_back(best);
      for (const Neighbor& neighbor : adjacency_[static_cast<std::size_t>(best)]) {
        inside[static_cast<std::size_t>(neighbor.node)] += neighbor.weight;
        outside[static_cast<std::size_t>(neighbor.node)] -= neighbor.weight;
      }
    }
    std::erase_if(*left, [&](int node) { return open[static_cast<std::size_t>(node)] == 0; });
    std::sort(part.begin(), part.end());
    return part;
  }

  /// The cost of the edges of `node` if `process` were there, but for the one to `except`.
  std::int64_t cost_at(int node, int process, int except) const {
    std::int64_t cost = 0;
    for (const Neighbor& neighbor : adjacency_[static_cast<std::size_t>(node)]) {
      if (neighbor.node == except) continue;
      cost += neighbor.weight *
              place_distance(place_of(process), place_of(order_[static_cast<std::size_t>(neighbor.node)]));
    }
    return cost;
  }

  void exchange() {
    const int nodes = static_cast<int>(order_.size());
    for (int sweep = 0; sweep < kExchangeSweeps; ++sweep) {
      bool gained = false;
      for (int one = 0; one < nodes; ++one) {
        for (int other = one + 1; other < nodes; ++other) gained |= exchange_if_better(one, other);
      }
      if (!gained) return;
    }
  }

  bool exchange_if_better(int one, int other) {
    int& here = order_[static_cast<std::size_t>(one)];
    int& there = order_[static_cast<std::size_t>(other)];
    if (place_distance(place_of(here), place_of(there)) == 0) return false;
    const std::int64_t now = cost_at(one, here, other) + cost_at(other, there, one);
    const std::int64_t then = cost_at(one, there, other) + cost_at(other, here, one);
    if (then >= now) return false;
    std::swap(here, there);
    return true;
  }

  const std::vector<ProcessPlace>& places_;
  Adjacency adjacency_;
  std::vector<int> order_;
};

}  // namespace

std::int64_t place_distance(const ProcessPlace& one, const ProcessPlace& other) {
  if (one.machine != other.machine) return std::int64_t{1} << kHardwareLevels;
  for (int level = kHardwareLevels - 1; level > 0; --level) {
    const auto i = static_cast<std::size_t>(level);
    if (one.place[i] >= 0 && one.place[i] == other.place[i])
      return level == kHardwareLevels - 1 ? 0 : std::int64_t{1} << (kHardwareLevels - 2 - level);
  }
  return std::int64_t{1} << (kHardwareLevels - 2);
}

std::int64_t placement_cost(const std::vector<PlacementEdge>& edges, const std::vector<ProcessPlace>& places,
                            const std::vector<int>& order) {
  std::int64_t cost = 0;
  for (const PlacementEdge& edge : edges) {
    const auto at = [&](std::int32_t node) -> const ProcessPlace& {
      return places[static_cast<std::size_t>(order[static_cast<std::size_t>(node)])];
    };
    if (edge.node != edge.neighbor) cost += edge.weight * place_distance(at(edge.node), at(edge.neighbor));
  }
  return cost;
}

std::vector<int> place_nodes(const std::vector<PlacementEdge>& edges,
                             const std::vector<ProcessPlace>& places) {
  std::vector<int> as_they_are(places.size());
  std::iota(as_they_are.begin(), as_they_are.end(), 0);
  std::vector<int> placed = Placer(edges, places).run();
  const bool gains = placement_cost(edges, places, placed) < placement_cost(edges, places, as_they_are);
  return gains ? placed : as_they_are;
}

}  // namespace tasuki

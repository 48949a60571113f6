// Distributed graph topologies: each process knows its own edges (MPI 8.5.4, 8.5.5).
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "base/user_memory.hpp"
#include "coll/byte_collectives.hpp"
#include "communicator/api.hpp"
#include "communicator/topology_exchange.hpp"
#include "job/launcher.hpp"

namespace tasuki {
namespace {

Code check_ranks(const Comm& comm, const char* name, const int* ranks, int count) {
  if (ranks == nullptr && count > 0)
    return comm.process.fail(kErrArg, "%s = NULL, expected %d ranks", name, count);
  for (int i = 0; i < count; ++i) {
    if (ranks[i] < 0 || ranks[i] >= comm.size()) {
      return comm.process.fail(kErrRank, "%s[%d] = %d, expected 0..%d", name, i, ranks[i], comm.size() - 1);
    }
  }
  return kSuccess;
}

Code check_weights(const Comm& comm, const char* name, const int* weights, int count) {
  if (weights == kUnweighted || count == 0) return kSuccess;
  if (weights == nullptr || weights == kWeightsEmpty) {
    return comm.process.fail(kErrArg, "%s = %s, expected %d weights or MPI_UNWEIGHTED", name,
                             weights == nullptr ? "NULL" : "MPI_WEIGHTS_EMPTY", count);
  }
  for (int i = 0; i < count; ++i) {
    if (weights[i] < 0)
      return comm.process.fail(kErrArg, "%s[%d] = %d, expected 0 or more", name, i, weights[i]);
  }
  return kSuccess;
}

/// The seed of the fingerprint: that all ranks give weights or none does.
std::uint64_t weights_fingerprint(bool weighted) {
  const int flag = weighted ? 1 : 0;
  return fingerprint(3, &flag, 1);
}

std::uint64_t edge_number(int source, int destination) {
  const int ends[] = {source, destination};
  return fingerprint(4, ends, 2);
}

/// An edge as one of its ends hears of it.
struct HalfEdge {
  std::int32_t leaves;  // 1: from the process that hears of it to `neighbor`; 0: the other way
  std::int32_t neighbor;
  std::int32_t weight;
};

/// The edges that this process passed to MPI_Dist_graph_create, `degrees[i]` from each of `sources`.
struct Edges {
  int sources_count;
  const int* sources;
  const int* degrees;
  const int* destinations;
  const int* weights;

  template <class Visit>
  void for_each(Visit&& visit) const {
    std::size_t edge = 0;
    for (int i = 0; i < sources_count; ++i) {
      for (int k = 0; k < degrees[i]; ++k, ++edge)
        visit(sources[i], destinations[edge], weights == kUnweighted ? 0 : weights[edge]);
    }
  }
};

/// For what is made of so many edges before other ranks tell theirs; so all ranks hear of it.
Code check_memory_of_all_edges(const Comm& comm, std::int64_t edges) {
  constexpr std::size_t kEdgeBytes = 2 * sizeof(HalfEdge) + sizeof(PlacementEdge) + 3 * sizeof(int);
  if (has_memory_for(static_cast<std::size_t>(edges), kEdgeBytes)) return kSuccess;
  return fail_memory(comm.process, "the number of edges", edges);
}

Code check_edges(const Comm& comm, const Edges& edges) {
  if (const Code code = check_ranks(comm, "sources", edges.sources, edges.sources_count)) return code;
  std::int64_t total = 0;
  for (int i = 0; i < edges.sources_count; ++i) {
    if (edges.degrees[i] < 0)
      return comm.process.fail(kErrArg, "degrees[%d] = %d, expected 0 or more", i, edges.degrees[i]);
    total += edges.degrees[i];
  }
  if (total > INT32_MAX) {
    return comm.process.fail(kErrArg, "degrees add up to %lld, expected less than 2^31",
                             static_cast<long long>(total));
  }
  if (const Code code = check_ranks(comm, "destinations", edges.destinations, static_cast<int>(total)))
    return code;
  if (const Code code = check_weights(comm, "weights", edges.weights, static_cast<int>(total))) return code;
  return check_memory_of_all_edges(comm, total);
}

std::vector<Count> places_of(const std::vector<Count>& counts) {
  std::vector<Count> places(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), Count{0});
  return places;
}

/// Room for what the other ranks say that they tell: so many bytes each. kErrNoMem at this rank alone, whose
/// peers then wait for it.
template <class T>
Code make_room_for_told(Comm& comm, const std::vector<Count>& in_bytes, std::vector<T>* room) {
  constexpr Count kBytesMax = Count{1} << 40;
  Count all = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const Count bytes = in_bytes[static_cast<std::size_t>(rank)];
    if (bytes < 0 || bytes > kBytesMax || bytes % static_cast<Count>(sizeof(T)) != 0)
      comm.process.launcher.end_damaged(comm.endpoint(rank), "the number of edges of a graph");
    all += bytes;
  }
  const Count number = all / static_cast<Count>(sizeof(T));
  return try_resize(room, static_cast<std::size_t>(number))
             ? kSuccess
             : fail_memory(comm.process, "the number of edges that others tell", number);
}

/// Everybody's integers, by rank: for what all processes have to work out alike.
Code gather_integers(Comm& comm, const std::vector<int>& mine, std::vector<std::vector<int>>* all) {
  const auto size = static_cast<std::size_t>(comm.size());
  const auto bytes = static_cast<Count>(mine.size() * sizeof(int));
  std::vector<Count> in_bytes(size);
  if (const Code code = allgather_bytes(comm, &bytes, in_bytes.data(), sizeof bytes)) return code;
  const std::vector<Count> out_bytes(size, bytes), out_places(size, 0), in_places = places_of(in_bytes);
  std::vector<int> together;
  if (const Code code = make_room_for_told(comm, in_bytes, &together)) return code;
  if (const Code code =
          alltoallv_bytes(comm, mine.data(), CountArray(out_bytes.data()), CountArray(out_places.data()),
                          together.data(), CountArray(in_bytes.data()), CountArray(in_places.data())))
    return code;
  for (std::size_t rank = 0; rank < size; ++rank) {
    const auto first = together.begin() + in_places[rank] / static_cast<Count>(sizeof(int));
    all->emplace_back(first, first + in_bytes[rank] / static_cast<Count>(sizeof(int)));
  }
  return kSuccess;
}

/// The order of the new communicator: that of the parent, or, where all permit it, what suits the edges that
/// any of them passed.
Code order_for(Comm& comm, const TopologyAgreement& agreed, const Edges& edges, std::vector<int>* order) {
  std::vector<PlacementEdge> weighed;
  if (!agreed.places.empty()) {
    std::vector<int> mine;
    edges.for_each([&](int source, int destination, int weight) {
      mine.insert(mine.end(), {source, destination, edges.weights == kUnweighted ? 1 : weight});
    });
    std::vector<std::vector<int>> all;
    if (const Code code = gather_integers(comm, mine, &all)) return code;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const std::vector<int>& passed = all[rank];
      const auto is_node = [&comm](int node) { return node >= 0 && node < comm.size(); };
      for (std::size_t i = 0; i < passed.size(); i += 3) {
        if (passed.size() % 3 != 0 || !is_node(passed[i]) || !is_node(passed[i + 1]) || passed[i + 2] < 0)
          comm.process.launcher.end_damaged(comm.endpoint(static_cast<int>(rank)), "the edges of a graph");
        weighed.push_back({passed[i], passed[i + 1], passed[i + 2]});
      }
    }
  }
  *order = choose_order(agreed, comm.size(), weighed);
  return kSuccess;
}

/// Tells both ends of each edge, which are nodes of the graph, that is, processes by `order`. *heard gets
/// what others told this process, in the order of their ranks, and of the edges of each.
Code tell_ends(Comm& comm, const Edges& edges, const std::vector<int>& order, std::vector<HalfEdge>* heard) {
  const auto size = static_cast<std::size_t>(comm.size());
  std::vector<Count> out_bytes(size), in_bytes(size);
  const auto process_of = [&](int node) {
    return static_cast<std::size_t>(order[static_cast<std::size_t>(node)]);
  };
  const auto count_one = [&](int node) { out_bytes[process_of(node)] += sizeof(HalfEdge); };
  edges.for_each([&](int source, int destination, int) {
    count_one(source);
    count_one(destination);
  });
  const std::vector<Count> out_places = places_of(out_bytes);
  std::vector<HalfEdge> told(static_cast<std::size_t>(out_places.back() + out_bytes.back()) /
                             sizeof(HalfEdge));
  std::vector<Count> next = out_places;
  const auto tell = [&](int node, HalfEdge half) {
    Count& place = next[process_of(node)];
    told[static_cast<std::size_t>(place) / sizeof(HalfEdge)] = half;
    place += sizeof(HalfEdge);
  };
  edges.for_each([&](int source, int destination, int weight) {
    tell(source, {1, destination, weight});
    tell(destination, {0, source, weight});
  });
  if (const Code code = alltoall_bytes(comm, out_bytes.data(), in_bytes.data(), sizeof(Count))) return code;
  if (const Code code = make_room_for_told(comm, in_bytes, heard)) return code;
  const std::vector<Count> in_places = places_of(in_bytes);
  return alltoallv_bytes(comm, told.data(), CountArray(out_bytes.data()), CountArray(out_places.data()),
                         heard->data(), CountArray(in_bytes.data()), CountArray(in_places.data()));
}

/// Gives the neighbours that this process passed for the node of its own rank to the process that takes the
/// node's place, and takes over those of the node that it is.
Code move_to_place(Comm& comm, const std::vector<int>& order, Topology* graph) {
  if (std::is_sorted(order.begin(), order.end())) return kSuccess;
  std::vector<int> mine{graph->indegree()};
  for (const auto* list :
       {&graph->sources, &graph->source_weights, &graph->destinations, &graph->destination_weights})
    mine.insert(mine.end(), list->begin(), list->end());
  std::vector<std::vector<int>> all;
  if (const Code code = gather_integers(comm, mine, &all)) return code;
  const std::vector<int>& passed = all[static_cast<std::size_t>(rank_in_order(order, comm.rank))];
  const std::size_t copies =
      graph->weighted ? 2 : 1;  // each list is followed by its weights, where there are
  if (passed.empty() || passed[0] < 0 || (passed.size() - 1) % copies != 0 ||
      static_cast<std::size_t>(passed[0]) > (passed.size() - 1) / copies)
    comm.process.launcher.end_damaged(comm.endpoint(rank_in_order(order, comm.rank)),
                                      "the neighbors of a node of a graph");
  const auto indegree = static_cast<std::size_t>(passed[0]);
  const std::size_t outdegree = (passed.size() - 1) / copies - indegree;
  auto next = passed.begin() + 1;
  const auto take = [&next](std::vector<int>* list, std::size_t count) {
    list->assign(next, next + static_cast<std::ptrdiff_t>(count));
    next += static_cast<std::ptrdiff_t>(count);
  };
  take(&graph->sources, indegree);
  take(&graph->source_weights, graph->weighted ? indegree : 0);
  take(&graph->destinations, outdegree);
  take(&graph->destination_weights, graph->weighted ? outdegree : 0);
  return kSuccess;
}

/// Copies what there is room for. `to` may be a sentinel of weights.
void copy_some(const std::vector<int>& from, int room, int* to) {
  if (to == kUnweighted || to == kWeightsEmpty || to == nullptr) return;
  std::copy_n(from.begin(), std::min(from.size(), static_cast<std::size_t>(room)), to);
}

std::vector<int> weights_of(const int* weights, int count) {
  if (weights == kUnweighted || count == 0) return {};
  return {weights, weights + count};
}

}  // namespace

namespace api {

Code dist_graph_create(Process&, Comm* comm_old, int n, const int* sources, const int* degrees,
                       const int* destinations, const int* weights, Info*, bool reorder,
                       Comm** comm_dist_graph) {
  if (const Code code = check_can_take_topology(*comm_old)) return code;
  const Edges edges{n, sources, degrees, destinations, weights};
  TopologyShare mine;
  mine.wrong = check_edges(*comm_old, edges);
  mine.fingerprint = weights_fingerprint(weights != kUnweighted);
  TopologyAgreement agreed;
  if (const Code code = exchange_shares(*comm_old, mine, reorder, &agreed)) return code;
  std::vector<int> order;
  if (const Code code = order_for(*comm_old, agreed, edges, &order)) return code;
  std::vector<HalfEdge> heard;
  if (const Code code = tell_ends(*comm_old, edges, order, &heard)) return code;
  Topology graph(TopologyKind::kDistGraph);
  graph.weighted = weights != kUnweighted;
  for (const HalfEdge& half : heard) {
    (half.leaves != 0 ? graph.destinations : graph.sources).push_back(half.neighbor);
    if (graph.weighted)
      (half.leaves != 0 ? graph.destination_weights : graph.source_weights).push_back(half.weight);
  }
  *comm_dist_graph = make_comm_with_topology(*comm_old, agreed.context, order, std::move(graph));
  return kSuccess;
}

Code dist_graph_create_adjacent(Process& process, Comm* comm_old, int indegree, const int* sources,
                                const int* sourceweights, int outdegree, const int* destinations,
                                const int* destweights, Info*, bool reorder, Comm** comm_dist_graph) {
  if (const Code code = check_can_take_topology(*comm_old)) return code;
  TopologyShare mine;
  mine.wrong = check_ranks(*comm_old, "sources", sources, indegree);
  if (mine.wrong == 0) mine.wrong = check_ranks(*comm_old, "destinations", destinations, outdegree);
  if (mine.wrong == 0) mine.wrong = check_weights(*comm_old, "sourceweights", sourceweights, indegree);
  if (mine.wrong == 0) mine.wrong = check_weights(*comm_old, "destweights", destweights, outdegree);
  const bool weighted = sourceweights != kUnweighted;
  if (mine.wrong == 0 && weighted != (destweights != kUnweighted)) {
    mine.wrong = process.fail(kErrArg, "%s = MPI_UNWEIGHTED, expected it for both or for neither",
                              weighted ? "destweights" : "sourceweights");
  }
  mine.fingerprint = weights_fingerprint(weighted);
  if (mine.wrong == 0) mine.wrong = check_memory_of_all_edges(*comm_old, std::int64_t{indegree} + outdegree);
  if (mine.wrong == 0) {
    for (int i = 0; i < outdegree; ++i) mine.balance += edge_number(comm_old->rank, destinations[i]);
    for (int i = 0; i < indegree; ++i) mine.balance -= edge_number(sources[i], comm_old->rank);
  }
  TopologyAgreement agreed;
  if (const Code code = exchange_shares(*comm_old, mine, reorder, &agreed)) return code;
  std::vector<int> order;
  const Edges edges{1, &comm_old->rank, &outdegree, destinations, destweights};
  if (const Code code = order_for(*comm_old, agreed, edges, &order)) return code;
  Topology graph(TopologyKind::kDistGraph);
  graph.matched = agreed.matched;
  graph.weighted = weighted;
  graph.sources.assign(sources, sources + indegree);
  graph.destinations.assign(destinations, destinations + outdegree);
  graph.source_weights = weights_of(sourceweights, indegree);
  graph.destination_weights = weights_of(destweights, outdegree);
  if (const Code code = move_to_place(*comm_old, order, &graph)) return code;
  *comm_dist_graph = make_comm_with_topology(*comm_old, agreed.context, order, std::move(graph));
  return kSuccess;
}

Code dist_graph_neighbors_count(Process&, Comm* comm, int* indegree, int* outdegree, bool* weighted) {
  if (const Code code = check_topology(*comm, TopologyKind::kDistGraph)) return code;
  *indegree = comm->topology->indegree();
  *outdegree = comm->topology->outdegree();
  *weighted = comm->topology->weighted;
  return kSuccess;
}

Code dist_graph_neighbors(Process&, Comm* comm, int maxindegree, int* sources, int* sourceweights,
                          int maxoutdegree, int* destinations, int* destweights) {
  if (const Code code = check_topology(*comm, TopologyKind::kDistGraph)) return code;
  const Topology& graph = *comm->topology;
  copy_some(graph.sources, maxindegree, sources);
  copy_some(graph.source_weights, maxindegree, sourceweights);
  copy_some(graph.destinations, maxoutdegree, destinations);
  copy_some(graph.destination_weights, maxoutdegree, destweights);
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki

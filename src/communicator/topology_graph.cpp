// Graph topologies: the whole graph is known to every process (MPI 8.5.3, 8.5.5, 8.5.8).
#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/user_memory.hpp"
#include "communicator/api.hpp"
#include "communicator/topology_exchange.hpp"

namespace tasuki {
namespace {

/// Checks a graph that is to be made on `comm`.
Code check_graph(const Comm& comm, int nnodes, const int* index, const int* edges) {
  Process& process = comm.process;
  if (nnodes < 0 || nnodes > comm.size()) {
    return process.fail(kErrArg, "nnodes = %d, expected 0 to %d, the ranks of the communicator", nnodes,
                        comm.size());
  }
  for (int node = 0; node < nnodes; ++node) {
    const int before = node == 0 ? 0 : index[node - 1];
    if (index[node] >= before) continue;
    return process.fail(kErrArg,
                        "index[%d] = %d, expected at least %d: the edges of all nodes up to this one", node,
                        index[node], before);
  }
  const int nedges = nnodes == 0 ? 0 : index[nnodes - 1];
  if (edges == nullptr && nedges > 0) return process.fail(kErrArg, "edges = NULL, expected %d ranks", nedges);
  for (int edge = 0; edge < nedges; ++edge) {
    if (edges[edge] >= 0 && edges[edge] < nnodes) continue;
    return process.fail(kErrArg, "edges[%d] = %d, expected 0..%d", edge, edges[edge], nnodes - 1);
  }
  return kSuccess;
}

/// Whether there are as many edges from each node to another as back.
bool is_symmetric(const Topology& graph) {
  std::vector<std::pair<int, int>> there, back;
  there.reserve(graph.edges.size());
  back.reserve(graph.edges.size());
  for (int node = 0; node < graph.nnodes(); ++node) {
    const int* neighbors = graph.neighbors_of(node);
    for (int i = 0; i < graph.neighbors_count(node); ++i) {
      there.emplace_back(node, neighbors[i]);
      back.emplace_back(neighbors[i], node);
    }
  }
  std::sort(there.begin(), there.end());
  std::sort(back.begin(), back.end());
  return there == back;
}

Topology make_graph(int nnodes, const int* index, const int* edges, int rank) {
  Topology graph(TopologyKind::kGraph);
  graph.index.assign(index, index + nnodes);
  graph.edges.assign(edges, edges + index[nnodes - 1]);
  graph.matched = is_symmetric(graph);
  const int* mine = graph.neighbors_of(rank);
  graph.sources.assign(mine, mine + graph.neighbors_count(rank));
  graph.destinations = graph.sources;
  return graph;
}

/// Before anything is made of the edges, so that all ranks hear of it.
Code check_memory_of_edges(Process& process, int nedges) {
  constexpr std::size_t kEdgeBytes =
      sizeof(PlacementEdge) + 2 * sizeof(std::pair<int, int>) + 3 * sizeof(int);
  if (has_memory_for(static_cast<std::size_t>(nedges), kEdgeBytes)) return kSuccess;
  return fail_memory(process, "the number of edges", nedges);
}

Code check_node(const Comm& comm, int rank) {
  if (rank >= 0 && rank < comm.size()) return kSuccess;
  return comm.process.fail(kErrRank, "rank = %d, expected 0..%d", rank, comm.size() - 1);
}

}  // namespace

namespace api {

Code graph_create(Process&, Comm* comm_old, int nnodes, const int* indx, const int* edges, bool reorder,
                  Comm** comm_graph) {
  if (const Code code = check_can_take_topology(*comm_old)) return code;
  TopologyShare mine;
  mine.wrong = check_graph(*comm_old, nnodes, indx, edges);
  if (mine.wrong == kSuccess && nnodes > 0)
    mine.wrong = check_memory_of_edges(comm_old->process, indx[nnodes - 1]);
  if (mine.wrong == kSuccess && nnodes > 0) {
    const auto nedges = static_cast<std::size_t>(indx[nnodes - 1]);
    mine.fingerprint = fingerprint(fingerprint(2, indx, static_cast<std::size_t>(nnodes)), edges, nedges);
  }
  TopologyAgreement agreed;
  if (const Code code = exchange_shares(*comm_old, mine, reorder, &agreed)) return code;
  *comm_graph = nullptr;
  if (comm_old->rank >= nnodes) return kSuccess;
  std::vector<PlacementEdge> weighed;
  if (!agreed.places.empty()) weighed.reserve(static_cast<std::size_t>(nnodes == 0 ? 0 : indx[nnodes - 1]));
  for (int node = 0, edge = 0; node < nnodes; ++node) {
    for (; edge < indx[node] && !agreed.places.empty(); ++edge) weighed.push_back({node, edges[edge], 1});
  }
  const std::vector<int> order = choose_order(agreed, nnodes, weighed);
  *comm_graph =
      make_comm_with_topology(*comm_old, agreed.context, order,
                              make_graph(nnodes, indx, edges, rank_in_order(order, comm_old->rank)));
  return kSuccess;
}

Code graphdims_get(Process&, Comm* comm, int* nnodes, int* nedges) {
  if (const Code code = check_topology(*comm, TopologyKind::kGraph)) return code;
  *nnodes = comm->topology->nnodes();
  *nedges = static_cast<int>(comm->topology->edges.size());
  return kSuccess;
}

Code graph_get(Process& process, Comm* comm, int maxindex, int maxedges, int* indx, int* edges) {
  if (const Code code = check_topology(*comm, TopologyKind::kGraph)) return code;
  const Topology& graph = *comm->topology;
  const int nedges = static_cast<int>(graph.edges.size());
  if (maxindex < graph.nnodes()) {
    return process.fail(kErrArg, "maxindex = %d, expected at least the %d nodes of the graph", maxindex,
                        graph.nnodes());
  }
  if (maxedges < nedges)
    return process.fail(kErrArg, "maxedges = %d, expected at least the %d edges of the graph", maxedges,
                        nedges);
  std::copy(graph.index.begin(), graph.index.end(), indx);
  std::copy(graph.edges.begin(), graph.edges.end(), edges);
  return kSuccess;
}

Code graph_neighbors_count(Process&, Comm* comm, int rank, int* nneighbors) {
  if (const Code code = check_topology(*comm, TopologyKind::kGraph)) return code;
  if (const Code code = check_node(*comm, rank)) return code;
  *nneighbors = comm->topology->neighbors_count(rank);
  return kSuccess;
}

Code graph_neighbors(Process& process, Comm* comm, int rank, int maxneighbors, int* neighbors) {
  if (const Code code = check_topology(*comm, TopologyKind::kGraph)) return code;
  if (const Code code = check_node(*comm, rank)) return code;
  const int count = comm->topology->neighbors_count(rank);
  if (maxneighbors < count) {
    return process.fail(kErrArg, "maxneighbors = %d, expected at least the %d neighbors of rank %d",
                        maxneighbors, count, rank);
  }
  std::copy_n(comm->topology->neighbors_of(rank), count, neighbors);
  return kSuccess;
}

Code graph_map(Process& process, Comm* comm, int nnodes, const int* indx, const int* edges, int* newrank) {
  if (const Code code = check_can_take_topology(*comm)) return code;
  if (nnodes < 1) return process.fail(kErrArg, "nnodes = %d, expected at least 1", nnodes);
  if (const Code code = check_graph(*comm, nnodes, indx, edges)) return code;
  *newrank = comm->rank < nnodes ? comm->rank : kUndefined;
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki

// Topologies: coordinates, and what calls on a communicator demand of its topology.
#include "object/topology.hpp"

namespace tasuki {

int Topology::rank_at(const std::vector<int>& place) const {
  int rank = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) rank = rank * dims[i] + place[i];
  return rank;
}

std::vector<int> Topology::coords_of(int rank) const {
  std::vector<int> place(dims.size());
  for (std::size_t i = dims.size(); i-- > 0;) {
    place[i] = rank % dims[i];
    rank /= dims[i];
  }
  return place;
}

int Topology::shifted(int dimension, std::int64_t distance) const {
  const auto i = static_cast<std::size_t>(dimension);
  std::int64_t coordinate = coords[i] + distance;
  if (coordinate < 0 || coordinate >= dims[i]) {
    if (periods[i] == 0) return kProcNull;
    coordinate = (coordinate % dims[i] + dims[i]) % dims[i];
  }
  std::vector<int> place = coords;
  place[i] = static_cast<int>(coordinate);
  return rank_at(place);
}

Code check_topology(const Comm& comm, TopologyKind kind) {
  if (comm.topology && comm.topology->kind == kind) return kSuccess;
  const char* expected = kind == TopologyKind::kCart    ? "a Cartesian one, from MPI_Cart_create"
                         : kind == TopologyKind::kGraph ? "a graph, from MPI_Graph_create"
                                                        : "a distributed graph, from MPI_Dist_graph_create";
  return comm.process.fail(kErrTopology, "comm has %s topology, expected %s",
                           comm.topology ? "another kind of" : "no", expected);
}

Code check_neighborhood(const Comm& comm) {
  if (!comm.topology) {
    return comm.process.fail(kErrTopology,
                             "comm has no topology, expected one from MPI_Cart_create, MPI_Graph_create, "
                             "MPI_Dist_graph_create or MPI_Dist_graph_create_adjacent");
  }
  if (comm.topology->matched) return kSuccess;
  if (comm.topology->kind == TopologyKind::kGraph) {
    return comm.process.fail(kErrTopology,
                             "the graph of comm is not symmetric, expected as many edges from each rank to "
                             "another as back");
  }
  return comm.process.fail(kErrTopology,
                           "the destinations that ranks gave when comm was made are not the sources that "
                           "others gave, expected each edge at both its ends");
}

}  // namespace tasuki

// Cartesian topologies: grids of processes (MPI 8.5.1, 8.5.5 to 8.5.7).
#include <cstddef>
#include <utility>

#include "base/user_memory.hpp"
#include "coll/byte_collectives.hpp"
#include "communicator/api.hpp"
#include "communicator/comm_create.hpp"
#include "communicator/topology_exchange.hpp"

namespace tasuki {
namespace {

/// Checks a grid that is to be made on `comm`; *nnodes gets its size.
Code check_grid(const Comm& comm, int ndims, const int* dims, int* nnodes) {
  std::int64_t product = 1;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] < 1) return comm.process.fail(kErrDims, "dims[%d] = %d, expected at least 1", i, dims[i]);
    product *= dims[i];
    if (product > comm.size()) {
      return comm.process.fail(kErrDims,
                               "dims[0] to dims[%d] make at least %lld places, expected at most "
                               "the %d ranks of the communicator",
                               i, static_cast<long long>(product), comm.size());
    }
  }
  *nnodes = static_cast<int>(product);
  return kSuccess;
}

Topology make_grid(std::vector<int> dims, std::vector<int> periods, int rank) {
  Topology grid(TopologyKind::kCart);
  grid.dims = std::move(dims);
  grid.periods = std::move(periods);
  grid.coords = grid.coords_of(rank);
  grid.sources.reserve(2 * grid.dims.size());
  // MPI 8.6: for each dimension the neighbour in the negative direction, then the one in the positive.
  for (int dimension = 0; dimension < grid.ndims(); ++dimension) {
    const auto i = static_cast<std::size_t>(dimension);
    const bool alone = grid.dims[i] == 1;  // there may be any number of such dimensions
    const int itself = grid.periods[i] != 0 ? rank : kProcNull;
    grid.sources.push_back(alone ? itself : grid.shifted(dimension, -1));
    grid.sources.push_back(alone ? itself : grid.shifted(dimension, 1));
  }
  grid.destinations = grid.sources;
  return grid;
}

/// Each node's neighbour in the positive direction of each dimension.
std::vector<PlacementEdge> grid_edges(const std::vector<int>& dims, const std::vector<int>& periods,
                                      int nnodes) {
  std::vector<PlacementEdge> edges;
  for (int node = 0; node < nnodes; ++node) {
    const Topology grid = make_grid(dims, periods, node);
    for (int dimension = 0; dimension < grid.ndims(); ++dimension) {
      const int neighbor = grid.shifted(dimension, 1);
      if (neighbor != kProcNull) edges.push_back({node, neighbor, 1});
    }
  }
  return edges;
}

std::vector<int> logicals(const int* values, int count) {
  std::vector<int> taken;
  taken.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) taken.push_back(values[i] != 0 ? 1 : 0);
  return taken;
}

/// For what is made of so many dimensions, all told: one grid that is kept, and one in passing.
Code check_memory_of_dimensions(Process& process, int ndims) {
  constexpr std::size_t kDimensionBytes = 16 * sizeof(int);
  if (has_memory_for(static_cast<std::size_t>(ndims), kDimensionBytes)) return kSuccess;
  return fail_memory(process, "ndims", ndims);
}

Code check_rank(const Comm& comm, int rank) {
  if (rank >= 0 && rank < comm.size()) return kSuccess;
  return comm.process.fail(kErrRank, "rank = %d, expected 0..%d", rank, comm.size() - 1);
}

Code check_room(const Comm& comm, int maxdims) {
  const int ndims = comm.topology->ndims();
  if (maxdims >= ndims) return kSuccess;
  return comm.process.fail(kErrArg, "maxdims = %d, expected at least the %d dimensions of the grid", maxdims,
                           ndims);
}

}  // namespace

namespace api {

Code cart_create(Process&, Comm* comm_old, int ndims, const int* dims, const int* periods, bool reorder,
                 Comm** comm_cart) {
  if (const Code code = check_can_take_topology(*comm_old)) return code;
  int nnodes = 0;
  TopologyShare mine;
  mine.wrong = check_grid(*comm_old, ndims, dims, &nnodes);
  std::vector<int> wraps;
  if (mine.wrong == kSuccess) mine.wrong = check_memory_of_dimensions(comm_old->process, ndims);
  if (mine.wrong == kSuccess) {
    wraps = logicals(periods, ndims);
    const auto count = static_cast<std::size_t>(ndims);
    mine.fingerprint = fingerprint(fingerprint(1, dims, count), wraps.data(), count);
  }
  TopologyAgreement agreed;
  if (const Code code = exchange_shares(*comm_old, mine, reorder, &agreed)) return code;
  *comm_cart = nullptr;
  if (comm_old->rank >= nnodes) return kSuccess;
  const std::vector<int> shape(dims, dims + ndims);
  const std::vector<PlacementEdge> edges =
      agreed.places.empty() ? std::vector<PlacementEdge>{} : grid_edges(shape, wraps, nnodes);
  const std::vector<int> order = choose_order(agreed, nnodes, edges);
  *comm_cart =
      make_comm_with_topology(*comm_old, agreed.context, order,
                              make_grid(shape, std::move(wraps), rank_in_order(order, comm_old->rank)));
  return kSuccess;
}

Code cartdim_get(Process&, Comm* comm, int* ndims) {
  if (const Code code = check_topology(*comm, TopologyKind::kCart)) return code;
  *ndims = comm->topology->ndims();
  return kSuccess;
}

Code cart_get(Process&, Comm* comm, int maxdims, int* dims, int* periods, int* coords) {
  if (const Code code = check_topology(*comm, TopologyKind::kCart)) return code;
  if (const Code code = check_room(*comm, maxdims)) return code;
  const Topology& grid = *comm->topology;
  for (std::size_t i = 0; i < grid.dims.size(); ++i) {
    dims[i] = grid.dims[i];
    periods[i] = grid.periods[i];
    coords[i] = grid.coords[i];
  }
  return kSuccess;
}

Code cart_rank(Process& process, Comm* comm, const int* coords, int* rank) {
  if (const Code code = check_topology(*comm, TopologyKind::kCart)) return code;
  const Topology& grid = *comm->topology;
  if (coords == nullptr && grid.ndims() > 0)
    return process.fail(kErrArg, "coords = NULL, expected %d coordinates", grid.ndims());
  if (const Code code = check_memory_of_dimensions(process, grid.ndims())) return code;
  std::vector<int> place;
  place.reserve(grid.dims.size());
  for (std::size_t i = 0; i < grid.dims.size(); ++i) {
    const int size = grid.dims[i];
    if (grid.periods[i] == 0 && (coords[i] < 0 || coords[i] >= size)) {
      return process.fail(kErrArg, "coords[%zu] = %d, expected 0..%d: this dimension is not periodic", i,
                          coords[i], size - 1);
    }
    place.push_back((coords[i] % size + size) % size);
  }
  *rank = grid.rank_at(place);
  return kSuccess;
}

Code cart_coords(Process&, Comm* comm, int rank, int maxdims, int* coords) {
  if (const Code code = check_topology(*comm, TopologyKind::kCart)) return code;
  if (const Code code = check_rank(*comm, rank)) return code;
  if (const Code code = check_room(*comm, maxdims)) return code;
  if (const Code code = check_memory_of_dimensions(comm->process, comm->topology->ndims())) return code;
  const std::vector<int> place = comm->topology->coords_of(rank);
  for (std::size_t i = 0; i < place.size(); ++i) coords[i] = place[i];
  return kSuccess;
}

Code cart_shift(Process& process, Comm* comm, int direction, int disp, int* rank_source, int* rank_dest) {
  if (const Code code = check_topology(*comm, TopologyKind::kCart)) return code;
  const Topology& grid = *comm->topology;
  if (direction < 0 || direction >= grid.ndims()) {
    return process.fail(kErrDims,
                        "direction = %d, expected at least 0 and below the %d dimensions of the grid",
                        direction, grid.ndims());
  }
  *rank_source = grid.shifted(direction, -static_cast<std::int64_t>(disp));
  *rank_dest = grid.shifted(direction, disp);
  return kSuccess;
}

Code cart_sub(Process& process, Comm* comm, const int* remain_dims, Comm** newcomm) {
  if (const Code code = check_topology(*comm, TopologyKind::kCart)) return code;
  const Topology& grid = *comm->topology;
  if (remain_dims == nullptr && grid.ndims() > 0)
    return process.fail(kErrArg, "remain_dims = NULL, expected %d logicals", grid.ndims());
  // The place among the dimensions that go tells the slice, the place among those that stay the order in it.
  Topology gone(TopologyKind::kCart), left(TopologyKind::kCart);
  for (std::size_t i = 0; i < grid.dims.size(); ++i) {
    Topology& part = remain_dims[i] != 0 ? left : gone;
    part.dims.push_back(grid.dims[i]);
    part.periods.push_back(grid.periods[i]);
    part.coords.push_back(grid.coords[i]);
  }
  const SplitShare mine{gone.rank_at(gone.coords), left.rank_at(left.coords), 1, make_context(process)};
  std::vector<SplitShare> shares(static_cast<std::size_t>(comm->size()));
  if (const Code code = allgather_bytes(*comm, &mine, shares.data(), sizeof mine)) return code;
  *newcomm = make_split(*comm, shares);
  (*newcomm)->topology = std::make_shared<const Topology>(
      make_grid(std::move(left.dims), std::move(left.periods), (*newcomm)->rank));
  return kSuccess;
}

Code cart_map(Process&, Comm* comm, int ndims, const int* dims, const int*, int* newrank) {
  if (const Code code = check_can_take_topology(*comm)) return code;
  int nnodes = 0;
  if (const Code code = check_grid(*comm, ndims, dims, &nnodes)) return code;
  *newrank = comm->rank < nnodes ? comm->rank : kUndefined;
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki

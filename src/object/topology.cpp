// What all kinds of virtual topologies share (MPI chapter 8): see topology.hpp; and the balanced
// factorisation of MPI_Dims_create.
#include "object/topology.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "coll/coll.hpp"
#include "object/api.hpp"
#include "object/comm_create.hpp"
#include "object/node_map.hpp"

namespace tasuki {
namespace {

/// The divisors of `number`, smallest first.
std::vector<int> divisors_of(int number) {
  std::vector<int> divisors;
  for (int divisor = 1; divisor <= number / divisor; ++divisor) {
    if (number % divisor != 0) continue;
    divisors.push_back(divisor);
    if (divisor != number / divisor) divisors.push_back(number / divisor);
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

/// Writes `number` as a product of `count` factors, largest first, as close to each other as possible (MPI
/// 8.5.2): the difference of the largest and the smallest is least, then the largest, then the second, and so
/// on.
class BalancedFactors {
 public:
  BalancedFactors(int number, std::size_t count) : divisors_(divisors_of(number)), count_(count) {
    choose(number, number);
  }
  const std::vector<int>& factors() const { return best_; }

 private:
  /// Tries all factors, at most `bound`, of what is `left`, smallest first: the first of equals stays.
  void choose(int left, int bound) {
    const std::size_t open = count_ - chosen_.size();
    if (open == 0) {
      if (left == 1 && (best_.empty() || spread_of(chosen_.back()) < spread_of_best())) best_ = chosen_;
      return;
    }
    // The smallest factor cannot be above the root, so what is chosen bounds the spread from below.
    const double root = std::pow(static_cast<double>(left), 1.0 / static_cast<double>(open)) * (1 + 1e-9);
    for (const int divisor : divisors_) {
      if (divisor > bound || left % divisor != 0) continue;
      if (divisor < root * (1 - 1e-8)) continue;  // the others would have to be larger than this one
      const int largest = chosen_.empty() ? divisor : chosen_.front();
      if (!best_.empty() && largest - root >= spread_of_best()) return;
      chosen_.push_back(divisor);
      choose(left / divisor, divisor);
      chosen_.pop_back();
    }
  }

  int spread_of(int smallest) const { return chosen_.front() - smallest; }
  int spread_of_best() const { return best_.front() - best_.back(); }

  std::vector<int> divisors_;
  std::size_t count_;
  std::vector<int> chosen_, best_;
};

}  // namespace

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

Code check_can_take_topology(const Comm& comm) {
  if (!comm.is_inter()) return kSuccess;
  return comm.process.fail(kErrComm, "comm is an intercommunicator, expected an intracommunicator");
}

std::uint64_t fingerprint(std::uint64_t seed, const int* values, std::size_t count) {
  std::uint64_t hash = 0x9e3779b97f4a7c15u ^ (seed * 0xff51afd7ed558ccdu) ^ count;
  for (std::size_t i = 0; i < count; ++i) {
    hash = std::rotl(hash ^ static_cast<std::uint32_t>(values[i]), 23) * 0xd6e8feb86659fd93u;
    hash ^= hash >> 31;
  }
  return hash;
}

Code exchange_shares(Comm& comm, const TopologyShare& mine, bool reorder, TopologyAgreement* agreed) {
  std::vector<TopologyShare> shares(static_cast<std::size_t>(comm.size()));
  TopologyShare sent = mine;
  sent.context = make_context(comm.process);
  if (reorder) {
    sent.reorder = 1;
    sent.place = {node_number(comm.process), hardware_place()};
  }
  if (const Code code = allgather_bytes(comm, &sent, shares.data(), sizeof sent)) return code;
  if (mine.wrong != kSuccess) return mine.wrong;
  std::uint64_t balance = 0;
  bool all_reorder = true;
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    if (shares[rank].wrong != kSuccess) {
      return comm.process.fail(error_class_bits(shares[rank].wrong),
                               "rank %zu of comm_old passed wrong arguments; its own error says which", rank);
    }
    balance += shares[rank].balance;
    all_reorder = all_reorder && shares[rank].reorder != 0;
  }
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    if (shares[rank].fingerprint == mine.fingerprint) continue;
    return comm.process.fail(kErrArg,
                             "the arguments are not those of rank %zu of comm_old, expected the same shape, "
                             "or weights, on all its ranks",
                             rank);
  }
  agreed->context = shares.front().context;
  agreed->matched = balance == 0;
  if (all_reorder) {
    for (const TopologyShare& share : shares) agreed->places.push_back(share.place);
  }
  return kSuccess;
}

std::vector<int> choose_order(const TopologyAgreement& agreed, int size,
                              const std::vector<PlacementEdge>& edges) {
  if (!agreed.places.empty()) {
    const auto places = agreed.places.begin();
    return place_nodes(edges, {places, places + size});
  }
  std::vector<int> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

int rank_in_order(const std::vector<int>& order, int parent_rank) {
  const auto found = std::find(order.begin(), order.end(), parent_rank);
  return found == order.end() ? kUndefined : static_cast<int>(found - order.begin());
}

Comm* make_comm_with_topology(Comm& parent, Context context, const std::vector<int>& order,
                              Topology topology) {
  std::vector<int> endpoints;
  endpoints.reserve(order.size());
  for (const int rank : order) endpoints.push_back(parent.endpoint(rank));
  const bool same = endpoints == parent.group->endpoints;
  Comm* made = make_comm(parent, context,
                         same ? parent.group : Ref<Group>(make_group(parent.process, std::move(endpoints))));
  made->topology = std::make_shared<const Topology>(std::move(topology));
  return made;
}

namespace api {

Code dims_create(Process& process, int nnodes, int ndims, int* dims) {
  if (nnodes < 1) return process.fail(kErrArg, "nnodes = %d, expected at least 1", nnodes);
  if (ndims < 0) return process.fail(kErrDims, "ndims = %d, expected at least 0", ndims);
  int left = nnodes;
  std::vector<int*> open;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] < 0) return process.fail(kErrDims, "dims[%d] = %d, expected at least 0", i, dims[i]);
    if (dims[i] == 0) {
      open.push_back(&dims[i]);
    } else if (left % dims[i] != 0) {
      return process.fail(kErrDims,
                          "dims[%d] = %d, expected a divisor of nnodes = %d and the other given dims", i,
                          dims[i], nnodes);
    } else {
      left /= dims[i];
    }
  }
  if (open.empty()) {
    if (left == 1 || ndims == 0) return 0;
    return process.fail(kErrDims, "dims multiply to %d, expected nnodes = %d or a dimension left at 0",
                        nnodes / left, nnodes);
  }
  const BalancedFactors balanced(left, open.size());
  for (std::size_t i = 0; i < open.size(); ++i) *open[i] = balanced.factors()[i];
  return 0;
}

Code topo_test(Process&, Comm* comm, int* status) {
  *status = comm->topology ? static_cast<int>(comm->topology->kind) : kUndefined;
  return 0;
}

}  // namespace api
}  // namespace tasuki

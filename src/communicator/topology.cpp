// What all kinds of virtual topologies share (MPI chapter 8): see topology_exchange.hpp; and the balanced
// factorisation of MPI_Dims_create.
#include "communicator/topology_exchange.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <iterator>
#include <numeric>
#include <utility>

#include "coll/byte_collectives.hpp"
#include "communicator/api.hpp"
#include "communicator/comm_create.hpp"
#include "placement/node_map.hpp"

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

/// A product of two and more in 31 bits has at most this many factors.
constexpr int kFactorsMax = 30;

/// Whether base to the power `exponent` is at least `number`.
bool power_reaches(int base, int exponent, std::int64_t number) {
  std::int64_t power = 1;
  for (int i = 0; i < exponent && power < number; ++i) power *= base;
  return power >= number;
}

/// Writes `number` as a product of `count` factors, largest first, as MPI_Dims_create's contract has it
/// (communicator/api.hpp).
///
/// The search chooses the largest factor first. None of the others may then be further below it than the best
/// product found so far allows, and the smallest is at most the root of what is left: so a branch lives only
/// while it can still be as close. A number of 31 bits has at most 1,536 divisors.
class BalancedFactors {
 public:
  BalancedFactors(int number, int count) : number_(number), divisors_(divisors_of(number)), count_(count) {
    choose(number, number);
  }
  /// The i-th, largest first.
  int factor(int i) const { return best_[static_cast<std::size_t>(i)]; }

 private:
  using Factors = std::array<int, kFactorsMax + 1>;

  void choose(int left, int bound) {
    const int open = count_ - depth_;
    if (open == 1) {
      if (left > bound) return;
      chosen_[static_cast<std::size_t>(depth_)] = left;
      keep_if_better();
      return;
    }
    const auto root = std::partition_point(divisors_.begin(), divisors_.end(),
                                           [&](int divisor) { return !power_reaches(divisor, open, left); });
    // The smallest of what is still open divides `left` and is at most its root.
    const int smallest_at_most = *root == 1 || power_is(*root, open, left) ? *root : *std::prev(root);
    for (auto divisor = root; divisor != divisors_.end() && *divisor <= bound; ++divisor) {
      const int largest = depth_ == 0 ? *divisor : chosen_[0];
      if (largest - smallest_at_most > best_spread_) return;
      if (left % *divisor != 0) continue;
      chosen_[static_cast<std::size_t>(depth_++)] = *divisor;
      choose(left / *divisor, *divisor);
      --depth_;
    }
  }

  static bool power_is(int base, int exponent, std::int64_t number) {
    return power_reaches(base, exponent, number) && !power_reaches(base, exponent, number + 1);
  }

  /// Of equals the first stays: the one whose largest factor is least, then its second, and so on.
  void keep_if_better() {
    const int spread = chosen_[0] - chosen_[static_cast<std::size_t>(count_ - 1)];
    if (spread > best_spread_) return;
    std::int64_t surface = 0;
    for (int i = 0; i < count_; ++i) surface += number_ / chosen_[static_cast<std::size_t>(i)];
    if (spread == best_spread_ && surface >= best_surface_) return;
    best_ = chosen_;
    best_spread_ = spread;
    best_surface_ = surface;
  }

  int number_;
  std::vector<int> divisors_;
  int count_;
  int depth_ = 0;  // factors that are chosen
  Factors chosen_{}, best_{};
  int best_spread_ = INT_MAX;
  std::int64_t best_surface_ = 0;
};

}  // namespace

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
  int open = 0;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] < 0) return process.fail(kErrDims, "dims[%d] = %d, expected at least 0", i, dims[i]);
    if (dims[i] == 0) {
      ++open;
    } else if (left % dims[i] != 0) {
      return process.fail(kErrDims,
                          "dims[%d] = %d, expected a divisor of nnodes = %d and the other given dims", i,
                          dims[i], nnodes);
    } else {
      left /= dims[i];
    }
  }
  if (open == 0) {
    if (left == 1 || ndims == 0) return 0;
    return process.fail(kErrDims, "dims multiply to %d, expected nnodes = %d or a dimension left at 0",
                        nnodes / left, nnodes);
  }
  // Beyond kFactorsMax one factor is 1 in any case, and so are all that follow it.
  const int factors = std::min(open, kFactorsMax + 1);
  const BalancedFactors balanced(left, factors);
  for (int i = 0, next = 0; i < ndims; ++i) {
    if (dims[i] != 0) continue;
    dims[i] = next < factors ? balanced.factor(next) : 1;
    ++next;
  }
  return 0;
}

Code topo_test(Process&, Comm* comm, int* status) {
  *status = comm->topology ? static_cast<int>(comm->topology->kind) : kUndefined;
  return 0;
}

}  // namespace api
}  // namespace tasuki

// The table of all algorithms: see coll/choice/registry.hpp. Costs are those of the formulas beside the
// algorithms, priced with the machine's parameters.
#include "coll/choice/registry.hpp"

#include <bit>

#include "base/algorithm_table.hpp"
#include "coll/algorithm/knomial.hpp"
#include "coll/choice/composed.hpp"
#include "coll/choice/flag_limits.hpp"
#include "coll/hierarchy/calls.hpp"
#include "coll/shm/node_segment.hpp"
#include "coll/shm/single_copy.hpp"
#include "tuning/cost.hpp"

namespace tasuki {
namespace {

// When an algorithm is valid.

constexpr bool always(const Problem&) {
  return true;
}
constexpr bool commutes(const Problem& problem) {
  return problem.commutative;
}
constexpr bool in_place(const Problem& problem) {
  return problem.in_place;
}
constexpr bool not_in_place(const Problem& problem) {
  return !problem.in_place;
}
constexpr bool power_of_two(const Problem& problem) {
  return std::has_single_bit(static_cast<unsigned>(problem.size));
}
constexpr bool equal_blocks_and_power_of_two(const Problem& problem) {
  return problem.uniform && power_of_two(problem);
}
constexpr bool on_a_stage(const Problem& problem) {
  return problem.stage && problem.blocking;
}
/// The same, and what the rank that shows most shows can be kept (coll/shm/node_segment.hpp).
constexpr bool can_be_kept(const Problem& problem) {
  const Count blocks = problem.operation == Operation::kScatter ? problem.size : 1;
  return on_a_stage(problem) && problem.bytes <= kKeptBytesMax / blocks;
}

// What it costs: a formula in ranks and bytes, for the whole of a communicator.

using CostFormula = Cost (*)(int size, double bytes);

template <CostFormula formula>
double priced(const Problem& problem, const Parameters& parameters, Count) {
  return cost_ns(formula(problem.size, static_cast<double>(problem.bytes)), problem, parameters);
}

Cost barrier_cost(int size, double) {
  return barrier_dissemination_cost(size);
}
template <int radix>
double reduce_knomial_ns(const Problem& problem, const Parameters& parameters, Count) {
  const auto bytes = static_cast<double>(problem.bytes);
  return cost_ns(reduce_knomial_cost(problem.size, bytes, problem.commutative, radix), problem, parameters);
}
template <Cost (*formula)(int size, double bytes, int radix), int radix>
double knomial_ns(const Problem& problem, const Parameters& parameters, Count) {
  return cost_ns(formula(problem.size, static_cast<double>(problem.bytes), radix), problem, parameters);
}
template <double (*price)(int, const Problem&, const Parameters&, Count), int dimensions>
double grid_ns(const Problem& problem, const Parameters& parameters, Count segment_bytes) {
  return price(dimensions, problem, parameters, segment_bytes);
}

using SharedFormula = SharedCost (*)(int size, double bytes);

/// The problem's bytes are those of all blocks together where the formula's are those of one.
template <SharedFormula formula>
double shared(const Problem& problem, const Parameters& parameters, Count) {
  const double blocks = problem.operation == Operation::kAllgather ? problem.size : 1;
  return shared_ns(formula(problem.size, static_cast<double>(problem.bytes) / blocks), problem, parameters);
}
double shared_alltoall_ns(const Problem& problem, const Parameters& parameters, Count) {
  return shared_ns(shared_alltoall_cost(problem.size, static_cast<double>(problem.bytes), problem.in_place),
                   problem, parameters);
}

// The functions that write a schedule, called with what they take of the team.

template <auto function>
constexpr auto plain =
    [](Schedule& schedule, const Team& team, const auto&... data) { function(schedule, team.self, data...); };
template <auto function>
constexpr auto rooted = [](Schedule& schedule, const Team& team, const auto&... data) {
  function(schedule, team.self, team.root, data...);
};

template <auto function, int radix>
constexpr auto knomial = [](Schedule& schedule, const Team& team, const auto&... data) {
  function(schedule, team.self, team.root, data..., radix);
};
template <auto function, int dimensions>
constexpr auto grid = [](Schedule& schedule, const Team& team, const auto&... data) {
  function(dimensions, schedule, team, data...);
};

void allreduce_doubling(Schedule& schedule, const Team& team, const Reduction& data) {
  allreduce_recursive_doubling(schedule, team.self, data, {Space::kReceive, 0});
}
constexpr Count kWindowBytes = 256 * 1024;  // how much of a pairwise exchange a rank has under way at a time
void alltoall_in_pairs(Schedule& schedule, const Team& team, const Blocks& out, const Blocks& in) {
  alltoall_pairwise(schedule, team.self, out, in, kWindowBytes);
}
void alltoall_in_place(Schedule& schedule, const Team& team, const Blocks&, const Blocks& all) {
  alltoall_exchange(schedule, team.self, all);
}

// The quick ways (coll/choice/flag_limits.hpp): they write no schedule, and are chosen before one is
// planned.

constexpr bool is_quick(const Problem& problem) {
  return problem.quick;
}
template <Operation operation>
constexpr Candidate kFlags = {algorithm_number(operation, "flags"), is_quick, quick_ns};

// The table.

using enum Operation;
using general::has_levels;
using general::is_grid;
using general::is_grid_and_commutes;
using general::kSegmentsWorthTrying;
using general::may_call_lanes;
using general::may_call_lanes_in_order;

constexpr AllgatherEntry kAllgatherEntries[] = {
    {{algorithm_number(kAllgather, "recursive_doubling"), equal_blocks_and_power_of_two,
      priced<allgather_recursive_doubling_cost>},
     plain<allgather_recursive_doubling>},
    {{algorithm_number(kAllgather, "bruck"), always, priced<allgather_bruck_cost>}, plain<allgather_bruck>},
    {{algorithm_number(kAllgather, "ring"), always, priced<allgather_ring_cost>}, plain<allgather_ring>},
    {kFlags<kAllgather>, nullptr},
    {{algorithm_number(kAllgather, "multi_ring"), always, general::allgather_multi_ring_ns},
     general::allgather_multi_ring},
    {{algorithm_number(kAllgather, "two_level"), has_levels, general::allgather_two_level_ns},
     general::allgather_two_level,
     levels::allgather},
    {{algorithm_number(kAllgather, "shared"), on_a_stage, shared<shared_allgather_cost>},
     plain<shared_allgather>},
};

constexpr AllreduceEntry kAllreduceEntries[] = {
    {{algorithm_number(kAllreduce, "recursive_doubling"), always, priced<allreduce_recursive_doubling_cost>},
     allreduce_doubling},
    {{algorithm_number(kAllreduce, "halving_doubling"), commutes, priced<allreduce_halving_doubling_cost>},
     plain<allreduce_halving_doubling>},
    {{algorithm_number(kAllreduce, "ring"), commutes, priced<allreduce_ring_cost>}, plain<allreduce_ring>},
    {kFlags<kAllreduce>, nullptr},
    {{algorithm_number(kAllreduce, "chain"), commutes, grid_ns<general::allreduce_grid_ns, 1>,
      kSegmentsWorthTrying},
     grid<general::allreduce_grid, 1>},
    {{algorithm_number(kAllreduce, "binary_tree"), commutes, general::allreduce_binary_tree_ns,
      kSegmentsWorthTrying},
     general::allreduce_binary_tree},
    {{algorithm_number(kAllreduce, "grid_2"), is_grid_and_commutes<2>, grid_ns<general::allreduce_grid_ns, 2>,
      kSegmentsWorthTrying},
     grid<general::allreduce_grid, 2>},
    {{algorithm_number(kAllreduce, "grid_3"), is_grid_and_commutes<3>, grid_ns<general::allreduce_grid_ns, 3>,
      kSegmentsWorthTrying},
     grid<general::allreduce_grid, 3>},
    {{algorithm_number(kAllreduce, "two_level"), has_levels, general::allreduce_two_level_ns},
     general::allreduce_two_level,
     levels::allreduce},
    {{algorithm_number(kAllreduce, "lanes"), general::has_lanes, general::allreduce_lanes_ns},
     general::allreduce_lanes,
     levels::allreduce_by_lanes},
    {{algorithm_number(kAllreduce, "shared"), on_a_stage, shared<shared_allreduce_cost>},
     plain<shared_allreduce>},
};

constexpr AlltoallEntry kAlltoallEntries[] = {
    {{algorithm_number(kAlltoall, "pairwise"), not_in_place, priced<alltoall_pairwise_cost>},
     alltoall_in_pairs},
    {{algorithm_number(kAlltoall, "exchange"), in_place, priced<alltoall_exchange_cost>}, alltoall_in_place},
    {{algorithm_number(kAlltoall, "bruck"), always, priced<alltoall_bruck_cost>}, plain<alltoall_bruck>},
    {kFlags<kAlltoall>, nullptr},
    {{algorithm_number(kAlltoall, "two_level"), has_levels, general::alltoall_two_level_ns},
     general::alltoall_two_level,
     levels::alltoall},
    {{algorithm_number(kAlltoall, "shared"), on_a_stage, shared_alltoall_ns}, plain<shared_alltoall>},
};

constexpr AlltoallEntry kAlltoallvEntries[] = {
    {{algorithm_number(kAlltoallv, "pairwise"), not_in_place, priced<alltoall_pairwise_cost>},
     alltoall_in_pairs},
    {{algorithm_number(kAlltoallv, "exchange"), in_place, priced<alltoall_exchange_cost>}, alltoall_in_place},
    {{algorithm_number(kAlltoallv, "shared"), on_a_stage, shared_alltoall_ns}, plain<shared_alltoall>},
};

constexpr BarrierEntry kBarrierEntries[] = {
    {{algorithm_number(kBarrier, "dissemination"), always, priced<barrier_cost>},
     plain<barrier_dissemination>},
    {kFlags<kBarrier>, nullptr},
    {{algorithm_number(kBarrier, "two_level"), has_levels, general::barrier_two_level_ns},
     general::barrier_two_level,
     levels::barrier},
};

constexpr BcastEntry kBcastEntries[] = {
    {{algorithm_number(kBcast, "binomial"), always, priced<bcast_binomial_cost>}, rooted<bcast_binomial>},
    {{algorithm_number(kBcast, "scatter_ring"), always, priced<bcast_scatter_ring_cost>},
     rooted<bcast_scatter_ring>},
    {kFlags<kBcast>, nullptr},
    {{algorithm_number(kBcast, "scatter_doubling"), power_of_two, priced<bcast_scatter_doubling_cost>},
     rooted<bcast_scatter_doubling>},
    {{algorithm_number(kBcast, "knomial_4"), always, knomial_ns<bcast_knomial_cost, 4>},
     knomial<bcast_knomial, 4>},
    {{algorithm_number(kBcast, "knomial_8"), always, knomial_ns<bcast_knomial_cost, 8>},
     knomial<bcast_knomial, 8>},
    {{algorithm_number(kBcast, "chain"), always, grid_ns<general::bcast_grid_ns, 1>, kSegmentsWorthTrying},
     grid<general::bcast_grid, 1>},
    {{algorithm_number(kBcast, "binary_tree"), always, general::bcast_binary_tree_ns, kSegmentsWorthTrying},
     general::bcast_binary_tree},
    {{algorithm_number(kBcast, "grid_2"), is_grid<2>, grid_ns<general::bcast_grid_ns, 2>,
      kSegmentsWorthTrying},
     grid<general::bcast_grid, 2>},
    {{algorithm_number(kBcast, "grid_3"), is_grid<3>, grid_ns<general::bcast_grid_ns, 3>,
      kSegmentsWorthTrying},
     grid<general::bcast_grid, 3>},
    {{algorithm_number(kBcast, "two_level"), has_levels, general::bcast_two_level_ns},
     general::bcast_two_level,
     levels::bcast},
    {{algorithm_number(kBcast, "shared"), on_a_stage, shared<shared_bcast_cost>}, rooted<shared_bcast>},
    {{algorithm_number(kBcast, "shared_split"), on_a_stage, shared<shared_bcast_split_cost>},
     rooted<shared_bcast_split>},
    {{algorithm_number(kBcast, "shared_copy"), can_be_kept, shared<shared_bcast_copy_cost>},
     rooted<shared_bcast_copy>},
};

constexpr ScanEntry kExscanEntries[] = {
    {{algorithm_number(kExscan, "recursive_doubling"), always, priced<exscan_recursive_doubling_cost>},
     plain<exscan_recursive_doubling>},
    {kFlags<kExscan>, nullptr},
    {{algorithm_number(kExscan, "shared"), on_a_stage, shared<shared_exscan_cost>}, plain<shared_exscan>},
    {{algorithm_number(kExscan, "two_level"), may_call_lanes_in_order, general::exscan_two_level_ns},
     nullptr,
     levels::exscan},
};

constexpr GatherEntry kGatherEntries[] = {
    {{algorithm_number(kGather, "linear"), always, priced<gather_linear_cost>}, rooted<gather_linear>},
    {{algorithm_number(kGather, "binomial"), always, priced<gather_binomial_cost>}, rooted<gather_binomial>},
    {kFlags<kGather>, nullptr},
    {{algorithm_number(kGather, "knomial_4"), always, knomial_ns<gather_knomial_cost, 4>},
     knomial<gather_knomial, 4>},
    {{algorithm_number(kGather, "knomial_8"), always, knomial_ns<gather_knomial_cost, 8>},
     knomial<gather_knomial, 8>},
    {{algorithm_number(kGather, "two_level"), has_levels, general::gather_two_level_ns},
     general::gather_two_level,
     levels::gather},
    {{algorithm_number(kGather, "shared"), on_a_stage, shared<shared_gather_cost>}, rooted<shared_gather>},
    {{algorithm_number(kGather, "shared_copy"), can_be_kept, shared<shared_gather_copy_cost>},
     rooted<shared_gather_copy>},
};

constexpr GatherEntry kGathervEntries[] = {
    {{algorithm_number(kGatherv, "linear"), always, priced<gather_linear_cost>}, rooted<gather_linear>},
    {{algorithm_number(kGatherv, "shared"), on_a_stage, shared<shared_gather_cost>}, rooted<shared_gather>},
};

constexpr ReduceEntry kReduceEntries[] = {
    {{algorithm_number(kReduce, "binomial"), always, reduce_knomial_ns<2>}, rooted<reduce_binomial>},
    {{algorithm_number(kReduce, "halving"), commutes, priced<reduce_halving_cost>}, rooted<reduce_halving>},
    {kFlags<kReduce>, nullptr},
    {{algorithm_number(kReduce, "knomial_4"), always, reduce_knomial_ns<4>}, knomial<reduce_knomial, 4>},
    {{algorithm_number(kReduce, "knomial_8"), always, reduce_knomial_ns<8>}, knomial<reduce_knomial, 8>},
    {{algorithm_number(kReduce, "chain"), commutes, grid_ns<general::reduce_grid_ns, 1>,
      kSegmentsWorthTrying},
     grid<general::reduce_grid, 1>},
    {{algorithm_number(kReduce, "binary_tree"), commutes, general::reduce_binary_tree_ns,
      kSegmentsWorthTrying},
     general::reduce_binary_tree},
    {{algorithm_number(kReduce, "grid_2"), is_grid_and_commutes<2>, grid_ns<general::reduce_grid_ns, 2>,
      kSegmentsWorthTrying},
     grid<general::reduce_grid, 2>},
    {{algorithm_number(kReduce, "grid_3"), is_grid_and_commutes<3>, grid_ns<general::reduce_grid_ns, 3>,
      kSegmentsWorthTrying},
     grid<general::reduce_grid, 3>},
    {{algorithm_number(kReduce, "two_level"), has_levels, general::reduce_two_level_ns},
     general::reduce_two_level,
     levels::reduce},
    {{algorithm_number(kReduce, "shared"), on_a_stage, shared<shared_reduce_cost>}, rooted<shared_reduce>},
    {{algorithm_number(kReduce, "shared_copy"), can_be_kept, shared<shared_reduce_copy_cost>},
     rooted<shared_reduce_copy>},
};

constexpr ReduceScatterEntry kReduceScatterEntries[] = {
    {{algorithm_number(kReduceScatter, "pairwise"), always, priced<reduce_scatter_pairwise_cost>},
     plain<reduce_scatter_pairwise>},
    {{algorithm_number(kReduceScatter, "halving"), commutes, priced<reduce_scatter_halving_cost>},
     plain<reduce_scatter_halving>},
    {{algorithm_number(kReduceScatter, "recursive_doubling"), always,
      priced<reduce_scatter_recursive_doubling_cost>},
     plain<reduce_scatter_recursive_doubling>},
    {kFlags<kReduceScatter>, nullptr},
    {{algorithm_number(kReduceScatter, "shared"), on_a_stage, shared<shared_reduce_scatter_cost>},
     plain<shared_reduce_scatter>},
    {{algorithm_number(kReduceScatter, "two_level"), may_call_lanes, general::reduce_scatter_two_level_ns},
     nullptr,
     levels::reduce_scatter},
};

constexpr ScanEntry kScanEntries[] = {
    {{algorithm_number(kScan, "recursive_doubling"), always, priced<scan_recursive_doubling_cost>},
     plain<scan_recursive_doubling>},
    {kFlags<kScan>, nullptr},
    {{algorithm_number(kScan, "shared"), on_a_stage, shared<shared_scan_cost>}, plain<shared_scan>},
    {{algorithm_number(kScan, "two_level"), may_call_lanes_in_order, general::scan_two_level_ns},
     nullptr,
     levels::scan},
};

constexpr ScatterEntry kScatterEntries[] = {
    {{algorithm_number(kScatter, "linear"), always, priced<scatter_linear_cost>}, rooted<scatter_linear>},
    {{algorithm_number(kScatter, "binomial"), always, priced<scatter_binomial_cost>},
     rooted<scatter_binomial>},
    {kFlags<kScatter>, nullptr},
    {{algorithm_number(kScatter, "knomial_4"), always, knomial_ns<scatter_knomial_cost, 4>},
     knomial<scatter_knomial, 4>},
    {{algorithm_number(kScatter, "knomial_8"), always, knomial_ns<scatter_knomial_cost, 8>},
     knomial<scatter_knomial, 8>},
    {{algorithm_number(kScatter, "two_level"), has_levels, general::scatter_two_level_ns},
     general::scatter_two_level,
     levels::scatter},
    {{algorithm_number(kScatter, "shared"), on_a_stage, shared<shared_scatter_cost>}, rooted<shared_scatter>},
    {{algorithm_number(kScatter, "shared_copy"), can_be_kept, shared<shared_scatter_copy_cost>},
     rooted<shared_scatter_copy>},
};

constexpr ScatterEntry kScattervEntries[] = {
    {{algorithm_number(kScatterv, "linear"), always, priced<scatter_linear_cost>}, rooted<scatter_linear>},
    {{algorithm_number(kScatterv, "shared"), on_a_stage, shared<shared_scatter_cost>},
     rooted<shared_scatter>},
};

/// The entries of an operation are its lines of the table of names, in their order.
template <std::size_t size, class One>
constexpr bool is_whole(const One (&entries)[size], Operation operation) {
  if (static_cast<int>(size) != algorithms_of_operation(operation)) return false;
  for (std::size_t place = 0; place < size; ++place) {
    if (entries[place].algorithm != first_algorithm(operation) + static_cast<int>(place)) return false;
  }
  return true;
}
static_assert(is_whole(kAllgatherEntries, kAllgather) && is_whole(kAllreduceEntries, kAllreduce) &&
              is_whole(kAlltoallEntries, kAlltoall) && is_whole(kAlltoallvEntries, kAlltoallv) &&
              is_whole(kBarrierEntries, kBarrier) && is_whole(kBcastEntries, kBcast) &&
              is_whole(kExscanEntries, kExscan) && is_whole(kGatherEntries, kGather) &&
              is_whole(kGathervEntries, kGatherv) && is_whole(kReduceEntries, kReduce) &&
              is_whole(kReduceScatterEntries, kReduceScatter) && is_whole(kScanEntries, kScan) &&
              is_whole(kScatterEntries, kScatter) && is_whole(kScattervEntries, kScatterv));

}  // namespace

std::span<const AllgatherEntry> allgather_entries() {
  return kAllgatherEntries;
}
std::span<const AllreduceEntry> allreduce_entries() {
  return kAllreduceEntries;
}
std::span<const AlltoallEntry> alltoall_entries() {
  return kAlltoallEntries;
}
std::span<const AlltoallEntry> alltoallv_entries() {
  return kAlltoallvEntries;
}
std::span<const BarrierEntry> barrier_entries() {
  return kBarrierEntries;
}
std::span<const BcastEntry> bcast_entries() {
  return kBcastEntries;
}
std::span<const ScanEntry> exscan_entries() {
  return kExscanEntries;
}
std::span<const GatherEntry> gather_entries() {
  return kGatherEntries;
}
std::span<const GatherEntry> gatherv_entries() {
  return kGathervEntries;
}
std::span<const ReduceEntry> reduce_entries() {
  return kReduceEntries;
}
std::span<const ReduceScatterEntry> reduce_scatter_entries() {
  return kReduceScatterEntries;
}
std::span<const ScanEntry> scan_entries() {
  return kScanEntries;
}
std::span<const ScatterEntry> scatter_entries() {
  return kScatterEntries;
}
std::span<const ScatterEntry> scatterv_entries() {
  return kScattervEntries;
}

const Candidate& candidate_of(int algorithm) {
  const Operation operation = kAlgorithmTable[algorithm].operation;
  const auto place = static_cast<std::size_t>(algorithm - first_algorithm(operation));
  switch (operation) {
    case kAllgather:
      return kAllgatherEntries[place];
    case kAllreduce:
      return kAllreduceEntries[place];
    case kAlltoall:
      return kAlltoallEntries[place];
    case kAlltoallv:
      return kAlltoallvEntries[place];
    case kBarrier:
      return kBarrierEntries[place];
    case kBcast:
      return kBcastEntries[place];
    case kExscan:
      return kExscanEntries[place];
    case kGather:
      return kGatherEntries[place];
    case kGatherv:
      return kGathervEntries[place];
    case kReduce:
      return kReduceEntries[place];
    case kReduceScatter:
      return kReduceScatterEntries[place];
    case kScan:
      return kScanEntries[place];
    case kScatter:
      return kScatterEntries[place];
    case kScatterv:
      break;
  }
  return kScattervEntries[place];
}

}  // namespace tasuki

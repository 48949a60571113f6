// The table of all algorithms: see coll/choice/registry.hpp. Costs are those of the formulas beside the
// algorithms, priced with the machine's parameters.
#include "coll/choice/registry.hpp"

#include <array>
#include <bit>
#include <iterator>
#include <type_traits>

#include "base/variables/algorithm_table.hpp"
#include "coll/algorithm/knomial.hpp"
#include "coll/choice/composed.hpp"
#include "coll/choice/flag_limits.hpp"
#include "coll/hierarchy/collectives.hpp"
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
  return problem.commutative && problem.repeatable == Repeatable::kNo;
}
/// By trees of another order than that of coll/algorithm/order.hpp.
constexpr bool any_order(const Problem& problem) {
  return problem.repeatable == Repeatable::kNo;
}
/// By two operands at a time.
constexpr bool by_pairs(const Problem& problem) {
  return problem.repeatable != Repeatable::kExact;
}
constexpr bool exact(const Problem& problem) {
  return problem.repeatable == Repeatable::kExact;
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
constexpr bool shares_memory(const Problem& problem) {
  return problem.node_segment && problem.blocking;
}
/// The same, and what the rank that shows most shows can be kept (coll/shm/node_segment.hpp).
constexpr bool can_be_kept(const Problem& problem) {
  const Count blocks = problem.operation == Operation::kScatter ? problem.size : 1;
  return shares_memory(problem) && problem.bytes <= kKeptBytesMax / blocks;
}

// What it costs: a formula in ranks and bytes, for the whole of a communicator, or in the problem.

template <auto function, class... Arguments>
constexpr bool takes = std::is_invocable_v<decltype(function), Arguments...>;

double time_of(const Cost& cost, const Problem& problem, const Parameters& parameters) {
  return cost_ns(cost, problem, parameters);
}
double time_of(const SingleCopyCost& cost, const Problem& problem, const Parameters& parameters) {
  return single_copy_ns(cost, problem, parameters);
}

/// By the formula, whose last arguments are `last`.
template <auto formula, auto... last>
double priced(const Problem& problem, const Parameters& parameters, Count segment_bytes) {
  const auto bytes = static_cast<double>(problem.bytes);
  if constexpr (takes<formula, const Problem&, const Parameters&, Count, decltype(last)...>) {
    return formula(problem, parameters, segment_bytes, last...);
  } else if constexpr (takes<formula, int>) {
    return time_of(formula(problem.size), problem, parameters);
  } else if constexpr (takes<formula, int, double, decltype(last)...>) {
    return time_of(formula(problem.size, bytes, last...), problem, parameters);
  } else {  // reductions, whose order may cost something
    return time_of(formula(problem.size, bytes, problem.commutative, last...), problem, parameters);
  }
}

double single_copy_alltoall_ns(const Problem& problem, const Parameters& parameters, Count) {
  return single_copy_ns(
      single_copy_alltoall_cost(problem.size, static_cast<double>(problem.bytes), problem.in_place), problem,
      parameters);
}

// The functions that write a schedule: each takes what it needs of the team and the data.

/// Calls `visit` with each form that the data of an operation has; `visit` knows which is its own.
template <class Visit>
void for_each_form(const CallData& data, Visit&& visit) {
  visit();
  visit(data.elements);
  visit(data.elements, data.blocks);
  visit(data.blocks);
  visit(data.blocks, data.elements);
  visit(data.out, data.blocks);
  visit(data.vector);
  visit(data.vector, data.blocks);
}

/// Writes the schedule by `function`, whose last arguments are `last`.
template <auto function, auto... last>
void write(Schedule& schedule, const Team& team, const CallData& data) {
  schedule.beside_bytes_max = has_own_node(*team.problem)
                                  ? static_cast<Count>(team.parameters->network_long_bytes)
                                  : Schedule::kNoLimit;
  for_each_form(data, [&](const auto&... form) {
    if constexpr (takes<function, Schedule&, Member, decltype(form)..., decltype(last)...>) {
      function(schedule, team.self, form..., last...);
    } else if constexpr (takes<function, Schedule&, Member, int, decltype(form)..., decltype(last)...>) {
      function(schedule, team.self, team.root, form..., last...);
    } else if constexpr (takes<function, Schedule&, const Team&, decltype(form)..., decltype(last)...>) {
      function(schedule, team, form..., last...);
    }
  });
}

constexpr Count kWindowBytes = 256 * 1024;  // how much of a pairwise exchange a round has at least

// The flag-based collectives (coll/shm/flag_collectives.hpp): they write no schedule, and are chosen before
// one is planned.

constexpr bool may_take_flags(const Problem& problem) {
  return problem.flags;
}
template <Operation operation>
constexpr Algorithm kFlags = {
    {algorithm_number(operation, "flag_based"), may_take_flags, flag_collective_ns}};

// The hierarchical collectives (coll/hierarchy/collectives.hpp).

template <hierarchy::Collective& collective>
void write_hierarchical(Schedule& schedule, const Team& team, const CallData& data) {
  composed::write_hierarchical(collective, schedule, team, data);
}
template <Operation operation, hierarchy::Collective& collective, auto valid = composed::has_hierarchy>
constexpr Algorithm kHierarchical = {
    {algorithm_number(operation, "hierarchical"), valid, composed::hierarchical_ns},
    write_hierarchical<collective>,
    collective};

// The table.

using enum Operation;
using composed::has_lanes;
using composed::is_grid;
using composed::is_grid_and_commutes;
using composed::kSegmentsWorthTrying;
using composed::may_call_lanes;
using composed::may_call_lanes_in_order;
using composed::may_call_parts;

constexpr Algorithm kAlgorithmEntries[] = {
    {{algorithm_number(kAllgather, "recursive_doubling"), equal_blocks_and_power_of_two,
      priced<allgather_recursive_doubling_cost>},
     write<allgather_recursive_doubling>},
    {{algorithm_number(kAllgather, "bruck"), always, priced<allgather_bruck_cost>}, write<allgather_bruck>},
    {{algorithm_number(kAllgather, "ring"), always, priced<allgather_ring_cost>}, write<allgather_ring>},
    kFlags<kAllgather>,
    {{algorithm_number(kAllgather, "multi_ring"), always, composed::allgather_multi_ring_ns},
     write<composed::allgather_multi_ring>},
    kHierarchical<kAllgather, hierarchy::allgather>,
    {{algorithm_number(kAllgather, "single_copy"), shares_memory, priced<single_copy_allgather_cost>},
     write<single_copy_allgather>},

    {{algorithm_number(kAllreduce, "recursive_doubling"), by_pairs,
      priced<allreduce_recursive_doubling_cost>},
     write<allreduce_recursive_doubling, kResult>},
    {{algorithm_number(kAllreduce, "halving_doubling"), by_pairs, priced<allreduce_halving_doubling_cost>},
     write<allreduce_halving_doubling>},
    {{algorithm_number(kAllreduce, "ring"), commutes, priced<allreduce_ring_cost>}, write<allreduce_ring>},
    kFlags<kAllreduce>,
    {{algorithm_number(kAllreduce, "chain"), commutes, priced<composed::allreduce_grid_ns, 1>,
      kSegmentsWorthTrying},
     write<composed::allreduce_grid, 1>},
    {{algorithm_number(kAllreduce, "binary_tree"), commutes, composed::allreduce_binary_tree_ns,
      kSegmentsWorthTrying},
     write<composed::allreduce_binary_tree>},
    {{algorithm_number(kAllreduce, "grid_2"), is_grid_and_commutes<2>, priced<composed::allreduce_grid_ns, 2>,
      kSegmentsWorthTrying},
     write<composed::allreduce_grid, 2>},
    {{algorithm_number(kAllreduce, "grid_3"), is_grid_and_commutes<3>, priced<composed::allreduce_grid_ns, 3>,
      kSegmentsWorthTrying},
     write<composed::allreduce_grid, 3>},
    kHierarchical<kAllreduce, hierarchy::allreduce>,
    {{algorithm_number(kAllreduce, "lanes"), has_lanes, composed::allreduce_by_lanes_ns},
     write_hierarchical<hierarchy::allreduce_by_lanes>,
     hierarchy::allreduce_by_lanes},
    {{algorithm_number(kAllreduce, "single_copy"), shares_memory, priced<single_copy_allreduce_cost>},
     write<single_copy_allreduce>},
    {{algorithm_number(kAllreduce, "collect"), exact, priced<allreduce_collect_cost>},
     write<allreduce_collect, kResult>},
    {{algorithm_number(kAllreduce, "collect_slices"), exact, priced<allreduce_collect_slices_cost>},
     write<allreduce_collect_slices>},

    {{algorithm_number(kAlltoall, "pairwise"), not_in_place, priced<alltoall_pairwise_cost>},
     write<alltoall_pairwise, kWindowBytes>},
    {{algorithm_number(kAlltoall, "exchange"), in_place, priced<alltoall_exchange_cost, kWindowBytes>},
     write<alltoall_exchange, kWindowBytes>},
    {{algorithm_number(kAlltoall, "bruck"), always, priced<alltoall_bruck_cost>}, write<alltoall_bruck>},
    kFlags<kAlltoall>,
    kHierarchical<kAlltoall, hierarchy::alltoall, has_lanes>,
    {{algorithm_number(kAlltoall, "single_copy"), shares_memory, single_copy_alltoall_ns},
     write<single_copy_alltoall>},

    {{algorithm_number(kAlltoallv, "pairwise"), not_in_place, priced<alltoall_pairwise_cost>},
     write<alltoall_pairwise, kWindowBytes>},
    {{algorithm_number(kAlltoallv, "exchange"), in_place, priced<alltoall_exchange_cost, kWindowBytes>},
     write<alltoall_exchange, kWindowBytes>},
    {{algorithm_number(kAlltoallv, "single_copy"), shares_memory, single_copy_alltoall_ns},
     write<single_copy_alltoall>},
    kHierarchical<kAlltoallv, hierarchy::alltoallv, may_call_parts>,

    {{algorithm_number(kBarrier, "dissemination"), always, priced<barrier_dissemination_cost>},
     write<barrier_dissemination>},
    kFlags<kBarrier>,
    kHierarchical<kBarrier, hierarchy::barrier>,

    {{algorithm_number(kBcast, "binomial"), always, priced<bcast_binomial_cost>}, write<bcast_binomial>},
    {{algorithm_number(kBcast, "scatter_ring"), always, priced<bcast_scatter_ring_cost>},
     write<bcast_scatter_ring>},
    kFlags<kBcast>,
    {{algorithm_number(kBcast, "scatter_doubling"), power_of_two, priced<bcast_scatter_doubling_cost>},
     write<bcast_scatter_doubling>},
    {{algorithm_number(kBcast, "knomial_4"), always, priced<bcast_knomial_cost, 4>}, write<bcast_knomial, 4>},
    {{algorithm_number(kBcast, "knomial_8"), always, priced<bcast_knomial_cost, 8>}, write<bcast_knomial, 8>},
    {{algorithm_number(kBcast, "chain"), always, priced<composed::bcast_grid_ns, 1>, kSegmentsWorthTrying},
     write<composed::bcast_grid, 1>},
    {{algorithm_number(kBcast, "binary_tree"), always, composed::bcast_binary_tree_ns, kSegmentsWorthTrying},
     write<composed::bcast_binary_tree>},
    {{algorithm_number(kBcast, "grid_2"), is_grid<2>, priced<composed::bcast_grid_ns, 2>,
      kSegmentsWorthTrying},
     write<composed::bcast_grid, 2>},
    {{algorithm_number(kBcast, "grid_3"), is_grid<3>, priced<composed::bcast_grid_ns, 3>,
      kSegmentsWorthTrying},
     write<composed::bcast_grid, 3>},
    kHierarchical<kBcast, hierarchy::bcast>,
    {{algorithm_number(kBcast, "single_copy"), shares_memory, priced<single_copy_bcast_cost>},
     write<single_copy_bcast>},
    {{algorithm_number(kBcast, "single_copy_split"), shares_memory, priced<single_copy_bcast_split_cost>},
     write<single_copy_bcast_split>},
    {{algorithm_number(kBcast, "kept_copy"), can_be_kept, priced<single_copy_bcast_copy_cost>},
     write<single_copy_bcast_copy>},

    {{algorithm_number(kExscan, "recursive_doubling"), by_pairs, priced<exscan_recursive_doubling_cost>},
     write<exscan_recursive_doubling>},
    kFlags<kExscan>,
    {{algorithm_number(kExscan, "single_copy"), shares_memory, priced<single_copy_exscan_cost>},
     write<single_copy_exscan>},
    kHierarchical<kExscan, hierarchy::exscan, may_call_lanes_in_order>,
    {{algorithm_number(kExscan, "collect"), exact, priced<scan_collect_cost>}, write<scan_collect, false>},

    {{algorithm_number(kGather, "linear"), always, priced<gather_linear_cost>}, write<gather_linear>},
    {{algorithm_number(kGather, "binomial"), always, priced<gather_binomial_cost>}, write<gather_binomial>},
    kFlags<kGather>,
    {{algorithm_number(kGather, "knomial_4"), always, priced<gather_knomial_cost, 4>},
     write<gather_knomial, 4>},
    {{algorithm_number(kGather, "knomial_8"), always, priced<gather_knomial_cost, 8>},
     write<gather_knomial, 8>},
    kHierarchical<kGather, hierarchy::gather>,
    {{algorithm_number(kGather, "single_copy"), shares_memory, priced<single_copy_gather_cost>},
     write<single_copy_gather>},
    {{algorithm_number(kGather, "kept_copy"), can_be_kept, priced<single_copy_gather_copy_cost>},
     write<single_copy_gather_copy>},

    {{algorithm_number(kGatherv, "linear"), always, priced<gather_linear_cost>}, write<gather_linear>},
    {{algorithm_number(kGatherv, "single_copy"), shares_memory, priced<single_copy_gather_cost>},
     write<single_copy_gather>},
    kFlags<kGatherv>,
    kHierarchical<kGatherv, hierarchy::gatherv, may_call_parts>,

    {{algorithm_number(kReduce, "binomial"), by_pairs, priced<reduce_binomial_cost>}, write<reduce_binomial>},
    {{algorithm_number(kReduce, "halving"), by_pairs, priced<reduce_halving_cost>}, write<reduce_halving>},
    kFlags<kReduce>,
    {{algorithm_number(kReduce, "knomial_4"), any_order, priced<reduce_knomial_cost, 4>},
     write<reduce_knomial, 4>},
    {{algorithm_number(kReduce, "knomial_8"), any_order, priced<reduce_knomial_cost, 8>},
     write<reduce_knomial, 8>},
    {{algorithm_number(kReduce, "chain"), commutes, priced<composed::reduce_grid_ns, 1>,
      kSegmentsWorthTrying},
     write<composed::reduce_grid, 1>},
    {{algorithm_number(kReduce, "binary_tree"), commutes, composed::reduce_binary_tree_ns,
      kSegmentsWorthTrying},
     write<composed::reduce_binary_tree>},
    {{algorithm_number(kReduce, "grid_2"), is_grid_and_commutes<2>, priced<composed::reduce_grid_ns, 2>,
      kSegmentsWorthTrying},
     write<composed::reduce_grid, 2>},
    {{algorithm_number(kReduce, "grid_3"), is_grid_and_commutes<3>, priced<composed::reduce_grid_ns, 3>,
      kSegmentsWorthTrying},
     write<composed::reduce_grid, 3>},
    kHierarchical<kReduce, hierarchy::reduce>,
    {{algorithm_number(kReduce, "single_copy"), shares_memory, priced<single_copy_reduce_cost>},
     write<single_copy_reduce>},
    {{algorithm_number(kReduce, "kept_copy"), can_be_kept, priced<single_copy_reduce_copy_cost>},
     write<single_copy_reduce_copy>},
    {{algorithm_number(kReduce, "collect"), exact, priced<reduce_collect_cost>}, write<reduce_collect>},
    {{algorithm_number(kReduce, "collect_slices"), exact, priced<reduce_collect_slices_cost>},
     write<reduce_collect_slices>},

    {{algorithm_number(kReduceScatter, "pairwise"), always, priced<reduce_scatter_pairwise_cost>},
     write<reduce_scatter_pairwise>},
    {{algorithm_number(kReduceScatter, "halving"), by_pairs, priced<reduce_scatter_halving_cost>},
     write<reduce_scatter_halving>},
    {{algorithm_number(kReduceScatter, "recursive_doubling"), by_pairs,
      priced<reduce_scatter_recursive_doubling_cost>},
     write<reduce_scatter_recursive_doubling>},
    kFlags<kReduceScatter>,
    {{algorithm_number(kReduceScatter, "single_copy"), shares_memory,
      priced<single_copy_reduce_scatter_cost>},
     write<single_copy_reduce_scatter>},
    kHierarchical<kReduceScatter, hierarchy::reduce_scatter, may_call_lanes>,

    {{algorithm_number(kScan, "recursive_doubling"), by_pairs, priced<scan_recursive_doubling_cost>},
     write<scan_recursive_doubling>},
    kFlags<kScan>,
    {{algorithm_number(kScan, "single_copy"), shares_memory, priced<single_copy_scan_cost>},
     write<single_copy_scan>},
    kHierarchical<kScan, hierarchy::scan, may_call_lanes_in_order>,
    {{algorithm_number(kScan, "collect"), exact, priced<scan_collect_cost>}, write<scan_collect, true>},

    {{algorithm_number(kScatter, "linear"), always, priced<scatter_linear_cost>}, write<scatter_linear>},
    {{algorithm_number(kScatter, "binomial"), always, priced<scatter_binomial_cost>},
     write<scatter_binomial>},
    kFlags<kScatter>,
    {{algorithm_number(kScatter, "knomial_4"), always, priced<scatter_knomial_cost, 4>},
     write<scatter_knomial, 4>},
    {{algorithm_number(kScatter, "knomial_8"), always, priced<scatter_knomial_cost, 8>},
     write<scatter_knomial, 8>},
    kHierarchical<kScatter, hierarchy::scatter>,
    {{algorithm_number(kScatter, "single_copy"), shares_memory, priced<single_copy_scatter_cost>},
     write<single_copy_scatter>},
    {{algorithm_number(kScatter, "kept_copy"), can_be_kept, priced<single_copy_scatter_copy_cost>},
     write<single_copy_scatter_copy>},

    {{algorithm_number(kScatterv, "linear"), always, priced<scatter_linear_cost>}, write<scatter_linear>},
    {{algorithm_number(kScatterv, "single_copy"), shares_memory, priced<single_copy_scatter_cost>},
     write<single_copy_scatter>},
    kFlags<kScatterv>,
    kHierarchical<kScatterv, hierarchy::scatterv, may_call_parts>,
};

/// Each stands at its number: its line of the table of names.
constexpr bool stand_at_their_numbers() {
  for (std::size_t number = 0; number < std::size(kAlgorithmEntries); ++number) {
    if (kAlgorithmEntries[number].algorithm != static_cast<int>(number)) return false;
  }
  return std::size(kAlgorithmEntries) == kAlgorithms;
}
static_assert(stand_at_their_numbers());

/// Each operation's entries: known when this is compiled, since every collective without flags asks.
struct Range {
  std::size_t first, count;
};
constexpr auto kRanges = [] {
  std::array<Range, kOperations> ranges{};
  for (std::size_t index = 0; index < ranges.size(); ++index) {
    const auto operation = static_cast<Operation>(index);
    ranges[index] = {static_cast<std::size_t>(first_algorithm(operation)),
                     static_cast<std::size_t>(algorithms_of_operation(operation))};
  }
  return ranges;
}();

}  // namespace

std::span<const Algorithm> candidates_of(Operation operation) {
  const auto [first, count] = kRanges[static_cast<std::size_t>(operation)];
  return {kAlgorithmEntries + first, count};
}

const Candidate& candidate_of(int algorithm) {
  return kAlgorithmEntries[algorithm];
}

}  // namespace tasuki

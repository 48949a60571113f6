// The table behind base/variables/collective_operations.hpp. Included where a name must be known when it is
// compiled: the settings, the counters and the registry (coll/choice/registry.cpp).
//
// The names are seen from outside, in settings, tables, counters and MPI_T: a new name needs a line in
// former_names.hpp.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

#include "base/variables/collective_operations.hpp"
#include "base/variables/counters.hpp"

namespace tasuki {

/// By Operation.
inline constexpr OperationRow kOperationTable[] = {
    {"allgather", "TASUKI_ALLGATHER_ALGORITHM",
     "how MPI_Allgather and MPI_Allgatherv are done, wherever it is possible so",
     &Config::allgather_algorithm},
    {"allreduce", "TASUKI_ALLREDUCE_ALGORITHM", "how MPI_Allreduce is done, wherever it is possible so",
     &Config::allreduce_algorithm},
    {"alltoall", "TASUKI_ALLTOALL_ALGORITHM", "how MPI_Alltoall is done, wherever it is possible so",
     &Config::alltoall_algorithm},
    {"alltoallv", "TASUKI_ALLTOALLV_ALGORITHM",
     "how MPI_Alltoallv and MPI_Alltoallw are done, wherever it is possible so",
     &Config::alltoallv_algorithm},
    {"barrier", "TASUKI_BARRIER_ALGORITHM", "how MPI_Barrier is done, wherever it is possible so",
     &Config::barrier_algorithm},
    {"bcast", "TASUKI_BCAST_ALGORITHM", "how MPI_Bcast is done, wherever it is possible so",
     &Config::bcast_algorithm},
    {"exscan", "TASUKI_EXSCAN_ALGORITHM", "how MPI_Exscan is done, wherever it is possible so",
     &Config::exscan_algorithm},
    {"gather", "TASUKI_GATHER_ALGORITHM", "how MPI_Gather is done, wherever it is possible so",
     &Config::gather_algorithm},
    {"gatherv", "TASUKI_GATHERV_ALGORITHM", "how MPI_Gatherv is done, wherever it is possible so",
     &Config::gatherv_algorithm},
    {"reduce", "TASUKI_REDUCE_ALGORITHM", "how MPI_Reduce is done, wherever it is possible so",
     &Config::reduce_algorithm},
    {"reduce_scatter", "TASUKI_REDUCE_SCATTER_ALGORITHM",
     "how MPI_Reduce_scatter and MPI_Reduce_scatter_block are done, wherever it is possible so",
     &Config::reduce_scatter_algorithm},
    {"scan", "TASUKI_SCAN_ALGORITHM", "how MPI_Scan is done, wherever it is possible so",
     &Config::scan_algorithm},
    {"scatter", "TASUKI_SCATTER_ALGORITHM", "how MPI_Scatter is done, wherever it is possible so",
     &Config::scatter_algorithm},
    {"scatterv", "TASUKI_SCATTERV_ALGORITHM", "how MPI_Scatterv is done, wherever it is possible so",
     &Config::scatterv_algorithm},
};
static_assert(std::size(kOperationTable) == kOperations);

// clang-format off: one line, one algorithm
inline constexpr AlgorithmRow kAlgorithmTable[] = {
    {Operation::kAllgather, "recursive_doubling", "allgathers by recursive doubling"},
    {Operation::kAllgather, "bruck", "allgathers by Bruck's algorithm"},
    {Operation::kAllgather, "ring", "allgathers around a ring"},
    {Operation::kAllgather, "flag_based", "allgathers over the flags of the node segment"},
    {Operation::kAllgather, "multi_ring", "allgathers around rings in several directions"},
    {Operation::kAllgather, "hierarchical", "allgathers within nodes and between them"},
    {Operation::kAllgather, "single_copy", "allgathers out of exposed buffers"},

    {Operation::kAllreduce, "recursive_doubling", "allreduces by recursive doubling"},
    {Operation::kAllreduce, "halving_doubling", "allreduces by halving and doubling"},
    {Operation::kAllreduce, "ring", "allreduces around a ring"},
    {Operation::kAllreduce, "flag_based", "allreduces over the flags of the node segment"},
    {Operation::kAllreduce, "chain", "allreduces pipelined along a chain, to a rank and back"},
    {Operation::kAllreduce, "binary_tree", "allreduces pipelined along a binary tree, up and down"},
    {Operation::kAllreduce, "grid_2", "allreduces pipelined along the two dimensions of a grid"},
    {Operation::kAllreduce, "grid_3", "allreduces pipelined along the three dimensions of a grid"},
    {Operation::kAllreduce, "hierarchical", "allreduces within nodes and between them"},
    {Operation::kAllreduce, "lanes", "allreduces by slices, within nodes and between them"},
    {Operation::kAllreduce, "single_copy", "allreduces in exposed buffers"},
    {Operation::kAllreduce, "collect", "exact allreduces of all vectors, at every rank"},
    {Operation::kAllreduce, "collect_slices", "exact allreduces by slices"},

    {Operation::kAlltoall, "pairwise", "all-to-alls, pair by pair"},
    {Operation::kAlltoall, "exchange", "all-to-alls in place, pair by pair"},
    {Operation::kAlltoall, "bruck", "all-to-alls by Bruck's algorithm"},
    {Operation::kAlltoall, "flag_based", "all-to-alls over the flags of the node segment"},
    {Operation::kAlltoall, "hierarchical", "all-to-alls within nodes and between them"},
    {Operation::kAlltoall, "single_copy", "all-to-alls out of exposed buffers"},

    {Operation::kAlltoallv, "pairwise", "all-to-alls of blocks that differ, pair by pair"},
    {Operation::kAlltoallv, "exchange", "all-to-alls of blocks that differ, in place, pair by pair"},
    {Operation::kAlltoallv, "single_copy", "all-to-alls of blocks that differ, out of exposed buffers"},
    {Operation::kAlltoallv, "hierarchical",
     "all-to-alls of blocks that differ, within nodes and between them"},

    {Operation::kBarrier, "dissemination", "barriers by dissemination"},
    {Operation::kBarrier, "flag_based", "barriers over the flags of the node segment"},
    {Operation::kBarrier, "hierarchical", "barriers within nodes and between them"},

    {Operation::kBcast, "binomial", "broadcasts down a binomial tree"},
    {Operation::kBcast, "scatter_ring", "broadcasts by scattering, then around a ring"},
    {Operation::kBcast, "flag_based", "broadcasts over the flags of the node segment"},
    {Operation::kBcast, "scatter_doubling", "broadcasts by scattering, then by recursive doubling"},
    {Operation::kBcast, "knomial_4", "broadcasts down a tree of radix 4"},
    {Operation::kBcast, "knomial_8", "broadcasts down a tree of radix 8"},
    {Operation::kBcast, "chain", "broadcasts pipelined along a chain"},
    {Operation::kBcast, "binary_tree", "broadcasts pipelined down a binary tree"},
    {Operation::kBcast, "grid_2", "broadcasts pipelined along the two dimensions of a grid"},
    {Operation::kBcast, "grid_3", "broadcasts pipelined along the three dimensions of a grid"},
    {Operation::kBcast, "hierarchical", "broadcasts between nodes and within them"},
    {Operation::kBcast, "single_copy", "broadcasts out of the root's exposed buffer"},
    {Operation::kBcast, "single_copy_split", "broadcasts in exposed buffers, with the root's help"},
    {Operation::kBcast, "kept_copy", "broadcasts out of a kept copy"},

    {Operation::kExscan, "recursive_doubling", "exclusive scans by recursive doubling"},
    {Operation::kExscan, "flag_based", "exclusive scans over the flags of the node segment"},
    {Operation::kExscan, "single_copy", "exclusive scans in exposed buffers"},
    {Operation::kExscan, "hierarchical", "exclusive scans within nodes and between them"},
    {Operation::kExscan, "collect", "exact exclusive scans of the vectors of all lower ranks"},

    {Operation::kGather, "linear", "gathers straight to the root"},
    {Operation::kGather, "binomial", "gathers up a binomial tree"},
    {Operation::kGather, "flag_based", "gathers over the flags of the node segment"},
    {Operation::kGather, "knomial_4", "gathers up a tree of radix 4"},
    {Operation::kGather, "knomial_8", "gathers up a tree of radix 8"},
    {Operation::kGather, "hierarchical", "gathers within nodes and between them"},
    {Operation::kGather, "single_copy", "gathers into the root's exposed buffer"},
    {Operation::kGather, "kept_copy", "gathers out of kept copies"},

    {Operation::kGatherv, "linear", "gathers of blocks that differ, straight to the root"},
    {Operation::kGatherv, "single_copy", "gathers of blocks that differ, into the root's exposed buffer"},
    {Operation::kGatherv, "flag_based", "gathers of blocks that differ, over the flags of the node segment"},
    {Operation::kGatherv, "hierarchical", "gathers of blocks that differ, within nodes and between them"},

    {Operation::kReduce, "binomial", "reductions up a binomial tree"},
    {Operation::kReduce, "halving", "reductions by halves"},
    {Operation::kReduce, "flag_based", "reductions over the flags of the node segment"},
    {Operation::kReduce, "knomial_4", "reductions up a tree of radix 4"},
    {Operation::kReduce, "knomial_8", "reductions up a tree of radix 8"},
    {Operation::kReduce, "chain", "reductions pipelined along a chain"},
    {Operation::kReduce, "binary_tree", "reductions pipelined up a binary tree"},
    {Operation::kReduce, "grid_2", "reductions pipelined along the two dimensions of a grid"},
    {Operation::kReduce, "grid_3", "reductions pipelined along the three dimensions of a grid"},
    {Operation::kReduce, "hierarchical", "reductions within nodes and between them"},
    {Operation::kReduce, "single_copy", "reductions in exposed buffers"},
    {Operation::kReduce, "kept_copy", "reductions of kept copies, at the root"},
    {Operation::kReduce, "collect", "exact reductions of all vectors, at the root"},
    {Operation::kReduce, "collect_slices", "exact reductions by slices"},

    {Operation::kReduceScatter, "pairwise", "reduce-scatters, pair by pair"},
    {Operation::kReduceScatter, "halving", "reduce-scatters by halves"},
    {Operation::kReduceScatter, "recursive_doubling", "reduce-scatters by recursive doubling"},
    {Operation::kReduceScatter, "flag_based", "reduce-scatters over the flags of the node segment"},
    {Operation::kReduceScatter, "single_copy", "reduce-scatters in exposed buffers"},
    {Operation::kReduceScatter, "hierarchical", "reduce-scatters within nodes and between them"},

    {Operation::kScan, "recursive_doubling", "scans by recursive doubling"},
    {Operation::kScan, "flag_based", "scans over the flags of the node segment"},
    {Operation::kScan, "single_copy", "scans in exposed buffers"},
    {Operation::kScan, "hierarchical", "scans within nodes and between them"},
    {Operation::kScan, "collect", "exact scans of the vectors of all lower ranks"},

    {Operation::kScatter, "linear", "scatters straight from the root"},
    {Operation::kScatter, "binomial", "scatters down a binomial tree"},
    {Operation::kScatter, "flag_based", "scatters over the flags of the node segment"},
    {Operation::kScatter, "knomial_4", "scatters down a tree of radix 4"},
    {Operation::kScatter, "knomial_8", "scatters down a tree of radix 8"},
    {Operation::kScatter, "hierarchical", "scatters between nodes and within them"},
    {Operation::kScatter, "single_copy", "scatters out of the root's exposed buffer"},
    {Operation::kScatter, "kept_copy", "scatters out of a kept copy"},

    {Operation::kScatterv, "linear", "scatters of blocks that differ, straight from the root"},
    {Operation::kScatterv, "single_copy", "scatters of blocks that differ, out of the root's exposed buffer"},
    {Operation::kScatterv, "flag_based",
     "scatters of blocks that differ, over the flags of the node segment"},
    {Operation::kScatterv, "hierarchical", "scatters of blocks that differ, between nodes and within them"},
};
// clang-format on

inline constexpr int kAlgorithms = static_cast<int>(std::size(kAlgorithmTable));
static_assert(kAlgorithms <= kAlgorithmsMax, "Counters has no room for so many");

void no_such_algorithm();  // nowhere: calling it ends a constant evaluation

/// The number of the algorithm of this name. A name that is not in the table does not compile, or at least
/// does not link. (clang 14 refuses consteval within a variable template.)
constexpr int algorithm_number(Operation operation, std::string_view name) {
  for (int number = 0; number < kAlgorithms; ++number) {
    const AlgorithmRow& row = kAlgorithmTable[number];
    if (row.operation == operation && name == row.name) return number;
  }
  no_such_algorithm();
  return -1;
}

constexpr int first_algorithm(Operation operation) {
  int number = 0;
  while (number < kAlgorithms && kAlgorithmTable[number].operation < operation) ++number;
  return number;
}

constexpr int algorithms_of_operation(Operation operation) {
  int count = 0;
  for (const AlgorithmRow& row : kAlgorithmTable) count += row.operation == operation ? 1 : 0;
  return count;
}

/// Sorted by operation, and each operation has one: what the ranges above rely on.
static_assert([] {
  int last = 0;
  for (const AlgorithmRow& row : kAlgorithmTable) {
    const int operation = static_cast<int>(row.operation);
    if (operation != last && operation != last + 1) return false;
    last = operation;
  }
  return kAlgorithmTable[0].operation == Operation{0} && last == kOperations - 1;
}());

}  // namespace tasuki

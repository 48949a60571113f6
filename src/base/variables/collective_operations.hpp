// The collective operations that have algorithms to choose from, and one table of all algorithms: their names
// and what they are. The table serves the settings (TASUKI_BCAST_ALGORITHM), the counters, MPI_T, `mpiexec
// --info`, the documentation, and what TASUKI_EXPLAIN says. What an algorithm does and costs stands in
// coll/choice/registry.cpp, by its name here: a new algorithm is one line in either table.
//
// Pure and constant.
#pragma once

#include <cstdint>
#include <span>

#include "base/variables/config.hpp"

namespace tasuki {

/// In the order of the alphabet. The w form of an all-to-all counts as its v form.
enum class Operation : std::uint8_t {
  kAllgather,  // MPI_Allgather and MPI_Allgatherv
  kAllreduce,
  kAlltoall,
  kAlltoallv,  // MPI_Alltoallv and MPI_Alltoallw
  kBarrier,
  kBcast,
  kExscan,
  kGather,
  kGatherv,
  kReduce,
  kReduceScatter,  // MPI_Reduce_scatter and MPI_Reduce_scatter_block
  kScan,
  kScatter,
  kScatterv,
};
inline constexpr int kOperations = 14;

struct OperationRow {
  const char* name;                 // "reduce_scatter": as in the names of counters
  const char* setting;              // that forces its algorithm
  const char* description;          // of that setting
  std::int64_t Config::*algorithm;  // its value: 0 for the cheapest, else 1 + the algorithm's place among
                                    // those of the operation
};
/// By Operation.
std::span<const OperationRow> operation_table();
const OperationRow& operation_row(Operation operation);
/// The operation of a row of that table.
Operation operation_of(const OperationRow& row);

struct AlgorithmRow {
  Operation operation;
  const char* name;         // "binomial"
  const char* description;  // what is counted: "broadcasts down a binomial tree"
};
/// All algorithms; those of an operation follow one another. An algorithm's place in it is its number, by
/// which it is counted (Counters::algorithms).
std::span<const AlgorithmRow> algorithm_table();

/// Those of one operation, and the number of the first.
std::span<const AlgorithmRow> algorithms_of(Operation operation);
int first_algorithm_of(Operation operation);

}  // namespace tasuki

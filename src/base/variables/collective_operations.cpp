// The table of the operations, and views of that of the algorithms.
#include "base/variables/collective_operations.hpp"

#include "base/variables/algorithm_table.hpp"

namespace tasuki {
std::span<const OperationRow> operation_table() {
  return kOperationTable;
}

const OperationRow& operation_row(Operation operation) {
  return kOperationTable[static_cast<int>(operation)];
}

Operation operation_of(const OperationRow& row) {
  return static_cast<Operation>(&row - kOperationTable);
}

std::span<const AlgorithmRow> algorithm_table() {
  return kAlgorithmTable;
}

std::span<const AlgorithmRow> algorithms_of(Operation operation) {
  return algorithm_table().subspan(static_cast<std::size_t>(first_algorithm_of(operation)),
                                   static_cast<std::size_t>(algorithms_of_operation(operation)));
}

int first_algorithm_of(Operation operation) {
  return first_algorithm(operation);
}

}  // namespace tasuki

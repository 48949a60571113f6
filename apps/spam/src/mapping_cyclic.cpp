// Blocks of neighbouring columns, k for each rank, equal in number and dealt in turn: the paper's "cyclic".
// Where there are fewer columns than blocks, each column is a block.
#include <algorithm>

#include "mapping.hpp"

namespace spam {
namespace {

Owners cyclic(const MappingRequest& request) {
  const std::size_t columns = request.cost.size(), ranks = static_cast<std::size_t>(request.ranks);
  const std::size_t blocks = std::min(columns, ranks * static_cast<std::size_t>(request.parameter));
  Owners owners(columns);
  for (std::size_t column = 0; column < columns; ++column)
    owners[column] = static_cast<int>(column * blocks / columns % ranks);
  return owners;
}

const MappingKind kind("cyclic", cyclic, 4, "k blocks of columns for each rank, dealt in turn");

}  // namespace
}  // namespace spam

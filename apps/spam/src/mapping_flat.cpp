// Blocks of neighbouring columns, equal in number: as the paper's "flat".
#include "mapping.hpp"

namespace spam {
namespace {

Owners flat(const MappingRequest& request) {
  const std::size_t columns = request.cost.size();
  Owners owners(columns);
  for (std::size_t column = 0; column < columns; ++column)
    owners[column] = static_cast<int>(column * static_cast<std::size_t>(request.ranks) / columns);
  return owners;
}

const MappingKind kind("flat", flat, 0, "a block of neighbouring columns for each rank, equal in number");

}  // namespace
}  // namespace spam

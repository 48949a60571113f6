// A block of neighbouring columns for each rank, such that the rank whose columns cost most has the least to
// do.
#include "balance.hpp"
#include "mapping.hpp"

namespace spam {
namespace {

Owners balanced(const MappingRequest& request) {
  std::vector<double> before(1, 0.0);
  for (double cost : request.cost) before.push_back(before.back() + cost);
  std::vector<int> ends(static_cast<std::size_t>(request.ranks));
  balanced_cuts(before, ends);
  Owners owners;
  for (int rank = 0; rank < request.ranks; ++rank)
    owners.resize(static_cast<std::size_t>(ends[static_cast<std::size_t>(rank)]), rank);
  return owners;
}

const MappingKind kind("balanced", balanced, 0, "a block for each rank, of equal cost as it was counted");

}  // namespace
}  // namespace spam

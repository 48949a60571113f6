// Looks where the other ranks may run.
#include "p2p/distances.hpp"

#include <algorithm>

#include "node/node.hpp"

namespace tasuki {

Distances::Distances(const Node& node, int size)
    : node_(node), known_(static_cast<std::size_t>(size), kUnknown) {}

void Distances::assume(std::optional<Distance> distance) {
  std::fill(known_.begin(), known_.end(), distance ? static_cast<std::uint8_t>(*distance) : kUnknown);
  if (node_.ranks().size() == known_.size()) return;
  for (std::size_t rank = 0; rank < known_.size(); ++rank) {
    if (is_far(static_cast<int>(rank))) known_[rank] = static_cast<std::uint8_t>(Distance::kNetwork);
  }
}

bool Distances::is_far(int rank) const {
  return !node_.has(rank);
}

Distance Distances::find(int endpoint) {
  if (is_far(endpoint)) return Distance::kNetwork;
  if (!here_) here_ = hardware_surroundings();
  const int process = endpoint == node_.rank() ? 0 : node_.process_id(endpoint);
  if (process < 0) return here_->distance_to({});
  const Distance found = here_->distance_to(allowed_processors(process));
  known_[static_cast<std::size_t>(endpoint)] = static_cast<std::uint8_t>(found);
  return found;
}

}  // namespace tasuki

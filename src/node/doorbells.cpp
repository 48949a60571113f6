// Doorbells: the table of the job's ranks.
#include "node/doorbells.hpp"

namespace tasuki {

Doorbells::Doorbells(const SharedRegion& region, int ranks, int rank, bool use_membarrier)
    : region_(region), own_(reinterpret_cast<shm::Doorbell*>(region.base) + rank) {
  auto* const bells = reinterpret_cast<shm::Doorbell*>(region.base);
  shm::doorbell_open(*own_, use_membarrier);
  places_.reserve(static_cast<std::size_t>(ranks));
  for (int peer = 0; peer < ranks; ++peer) places_.push_back({bells + peer, fence_of(bells[peer])});
}

}  // namespace tasuki

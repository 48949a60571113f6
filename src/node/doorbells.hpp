// Doorbells: where each process of the machine that this rank knows is woken: the ranks of the job, and, as
// the link gets to know them, processes of other jobs. The ranks' doorbells begin a region that all of them
// map; virtual nodes share it, since what stands for the network between them has to wake ranks too.
//
// Ownership: the region is the starter's and outlives this. Thread safety: ring_own() and sleep() may run in
// any thread; the process lock guards the rest.
//
// Invariants:
//  1. place(endpoint) is valid for every rank of the job and what was added; one that cannot be reached has
//  a bell that no process waits at.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "node/doorbell.hpp"

namespace tasuki {

/// Memory that all ranks of the machine map, zero at first. Owned by the starter.
struct SharedRegion {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  int fd = -1;                  // the file that it maps, open as long as the region is; -1: private memory
  std::uint64_t fd_offset = 0;  // of `base` in the file

  SharedRegion part(std::size_t offset, std::size_t part_bytes) const {
    return {base + offset, part_bytes, fd, fd_offset + offset};
  }
};

class Doorbells {
 public:
  /// Where one endpoint is woken, and where it stands whether its fence reaches this process: never where
  /// this one is not registered for it. Once it does, so it stays.
  struct Place {
    shm::Doorbell* bell;
    const std::atomic<std::uint32_t>* has_membarrier;
  };

  static std::size_t bytes_needed(int ranks) {
    return sizeof(shm::Doorbell) * static_cast<std::size_t>(ranks);
  }

  /// REQUIRES: region.bytes >= bytes_needed(ranks), region.base aligned to 64. `use_membarrier`: false for
  /// ranks that are threads (a kernel without it is found out by itself).
  Doorbells(const SharedRegion& region, int ranks, int rank, bool use_membarrier)
      : region_(region), ranks_(ranks), own_(reinterpret_cast<shm::Doorbell*>(region.base) + rank) {
    shm::doorbell_open(*own_, use_membarrier);
  }
  Doorbells(const Doorbells&) = delete;
  Doorbells& operator=(const Doorbells&) = delete;

  Place place(int endpoint) const {
    if (endpoint >= ranks_) return others_[static_cast<std::size_t>(endpoint - ranks_)];
    shm::Doorbell& bell = reinterpret_cast<shm::Doorbell*>(region_.base)[endpoint];
    return {&bell, fence_of(bell)};
  }
  shm::Doorbell& own() { return *own_; }
  const SharedRegion& region() const { return region_; }

  void wake(int endpoint) { shm::doorbell_ring_if_asleep(*place(endpoint).bell); }
  bool sleeps_with_fence(int endpoint) const {
    return place(endpoint).has_membarrier->load(std::memory_order_relaxed) != 0;
  }

  /// A process of another job has become the next endpoint; it cannot be woken yet.
  void add() { others_.push_back(nowhere()); }
  /// Its doorbell is known now; or, null, it is gone.
  void set(int endpoint, shm::Doorbell* bell) {
    others_[static_cast<std::size_t>(endpoint - ranks_)] =
        bell != nullptr ? Place{bell, fence_of(*bell)} : nowhere();
  }
  Place nowhere() { return {&nobody_, &nobody_.has_membarrier}; }

 private:
  const std::atomic<std::uint32_t>* fence_of(const shm::Doorbell& bell) const {
    const bool registered = own_->has_membarrier.load(std::memory_order_relaxed) != 0;
    return registered ? &bell.has_membarrier : &nobody_.has_membarrier;
  }

  SharedRegion region_;
  int ranks_;
  shm::Doorbell* own_;
  std::vector<Place> others_;  // endpoints of other jobs, from ranks_ on
  shm::Doorbell nobody_{};     // of peers that cannot be reached
};

}  // namespace tasuki

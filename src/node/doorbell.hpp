// Doorbell: how a rank sleeps until a peer has something for it, without costing the peers' fast path a
// fence.
//
// The sleeper sets `sleeping`, makes every processor see that (membarrier), looks once more for work, and
// waits on a futex. A peer publishes its packet, then reads `sleeping`. The sleeper's membarrier is a full
// fence on the peer's processor too, so either the peer sees the flag, or the sleeper's second look sees the
// packet. Where the owner has no membarrier, or has not said so yet, the peers publish with seq_cst, and
// seq_cst accesses give the same guarantee. So does a peer that could not register for membarrier itself,
// whatever the owner says: the fence does not reach it.
//
// Thread safety: all functions may be called from any thread or process that maps the doorbell.
#pragma once

#include <atomic>
#include <cstdint>

namespace tasuki::shm {

struct alignas(64) Doorbell {
  std::atomic<std::uint32_t> sleeping;           // writers: the owner sets, the ringing process clears
  std::atomic<std::uint32_t> has_membarrier;     // writer: owner, once; 0 in one that was never opened
  alignas(64) std::atomic<std::uint32_t> rings;  // counts rings; the futex word
};

/// Tries to register this process for membarrier; sets `has_membarrier` when that is possible and wanted.
/// Peers may ring and publish before.
void doorbell_open(Doorbell& bell, bool use_membarrier);

/// Announces that the owner is about to sleep and returns the ticket for doorbell_sleep().
std::uint32_t doorbell_arm(Doorbell& bell);

/// Sleeps until a process has rung since doorbell_arm() gave `ticket`, or `timeout_ns` passed. Returns
/// whether one rang, or might have.
bool doorbell_sleep(Doorbell& bell, std::uint32_t ticket, std::int64_t timeout_ns);

/// Rings, asleep or not.
void doorbell_ring(Doorbell& bell);

/// The order with which something is to be published for an owner whose `has_membarrier` that is.
inline std::memory_order publish_order(const std::atomic<std::uint32_t>& has_membarrier) {
  return has_membarrier.load(std::memory_order_relaxed) == 0 ? std::memory_order_seq_cst
                                                             : std::memory_order_release;
}

/// To be called after something was published for the owner.
inline void doorbell_ring_if_asleep(Doorbell& bell) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (bell.sleeping.load(std::memory_order_seq_cst) != 0) [[unlikely]]
    doorbell_ring(bell);
}

}  // namespace tasuki::shm

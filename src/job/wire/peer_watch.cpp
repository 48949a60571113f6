// Looking at /proc now and then.
#include "job/wire/peer_watch.hpp"

#include <sched.h>

#include <algorithm>

#include "base/system/clock.hpp"

namespace tasuki::wire {
namespace {

constexpr std::int64_t kLookNs = 100'000'000;

bool is_gone(const PeerWatch::Peer& peer, bool or_about_to) {
  return peer.finalized->load(std::memory_order_acquire) == 0 &&
         has_ended(peer.process, peer.process.numbering, or_about_to) &&
         peer.finalized->load(std::memory_order_acquire) == 0;
}

int first_of(const std::vector<PeerWatch::Peer>& peers, bool or_about_to) {
  for (const PeerWatch::Peer& peer : peers) {
    if (is_gone(peer, or_about_to)) return peer.rank;
  }
  return -1;
}

}  // namespace

int PeerWatch::first_ended() const {
  return first_of(peers_, false);
}

int PeerWatch::first_exiting() const {
  return first_of(peers_, true);
}

int PeerWatch::next_ended() {
  const std::size_t count = std::min(peers_.size(), kPeersEach);
  const std::uint32_t first = next_.fetch_add(static_cast<std::uint32_t>(count), std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) {
    const Peer& peer = peers_[(first + i) % peers_.size()];
    if (is_gone(peer, false)) return peer.rank;
  }
  return -1;
}

void WatchingWaiter::offer_processor() {
  sched_yield();
}

bool WatchingWaiter::sleep(std::uint32_t ticket, std::int64_t timeout_ns) {
  const bool woken = link_->sleep(ticket, timeout_ns);
  const std::int64_t now_ns = clock_ns();
  std::int64_t looked_ns = looked_ns_.load(std::memory_order_relaxed);
  if (now_ns - looked_ns >= kLookNs &&
      looked_ns_.compare_exchange_strong(looked_ns, now_ns, std::memory_order_relaxed)) {
    const int ended = peers_.next_ended();
    if (ended >= 0) end_(ended);
  }
  return woken;
}

}  // namespace tasuki::wire

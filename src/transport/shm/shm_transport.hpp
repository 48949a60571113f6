// ShmTransport: packets between the ranks of one node, through memory that all of them map.
//
// The region holds a doorbell per rank, then each rank's inbox: one ring per source. Pages are touched only
// when used, so pairs that never talk cost address space alone.
//
// Thread safety: as transport.hpp. Each ShmTransport object belongs to one rank; all share the region.
#pragma once

#include <cstddef>
#include <vector>

#include "base/config.hpp"
#include "transport/shm/doorbell.hpp"
#include "transport/shm/ring.hpp"
#include "transport/transport.hpp"

namespace tasuki {

/// Memory that all ranks of the node map, zero at first. Owned by the bootstrap.
struct SharedRegion {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
};

class ShmTransport final : public Transport {
 public:
  /// Bytes of the region for `size` ranks; every rank must use the same configuration.
  static std::size_t bytes_needed(int size, const Config& config);

  /// REQUIRES: region.bytes >= bytes_needed(size, config), region.base aligned to 64.
  /// `use_membarrier`: false for ranks that are threads (a kernel without it is found out by itself).
  ShmTransport(SharedRegion region, int rank, int size, const Config& config, bool use_membarrier);

  int endpoints() const override { return size_; }
  int self() const override { return rank_; }
  std::uint32_t bulk_bytes_max() const override { return static_cast<std::uint32_t>(bulk_capacity_ / 4); }
  bool reserve(int peer, std::uint32_t bulk_bytes, PacketRoom* room) override {
    return peers_[static_cast<std::size_t>(peer)].sender.reserve(bulk_bytes, room);
  }
  void commit(int peer, const PacketRoom& room) override {
    Peer& to = peers_[static_cast<std::size_t>(peer)];
    to.sender.commit(room, shm::publish_order(*to.bell));
    shm::doorbell_ring_if_asleep(*to.bell);
  }
  int poll(PacketSink& sink) override;
  std::uint32_t arm() override;
  void sleep(std::uint32_t ticket, std::int64_t timeout_ns) override;
  void disarm() override;
  void ring() override;

 private:
  struct Peer {
    shm::RingSender sender;
    shm::RingReceiver receiver;
    shm::Doorbell* bell;
  };
  int poll_peer(int source, PacketSink& sink);
  shm::Doorbell& own_bell() { return *peers_[static_cast<std::size_t>(rank_)].bell; }

  int rank_;
  int size_;
  std::uint64_t bulk_capacity_;
  int armed_ = 0;  // threads of this rank between arm() and disarm()
  bool polling_ = false;
  std::vector<Peer> peers_;
};

}  // namespace tasuki

// ShmTransport: packets between the ranks of one node, through memory that all of them map.
//
// The region holds a doorbell per rank, then, where there are many, the bits that say which rings are to be
// looked at (attention.hpp), then each rank's inbox, one ring per source, then a board (a page)
// per ordered pair of ranks. Pages are touched only when used, so pairs that never talk cost address space
// alone. Processes of other jobs have endpoints beyond the ranks and come through a mailbox (mailbox.hpp),
// which is made when the first of them is to be known; until then they cost a poll one comparison.
//
// Thread safety: as transport.hpp. Each ShmTransport object belongs to one rank; all share the region.
#pragma once

#include <bitset>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "link/link.hpp"
#include "link/shm/attention.hpp"
#include "link/shm/mailbox.hpp"
#include "link/shm/ring.hpp"
#include "node/doorbell.hpp"

namespace tasuki {

/// Memory that all ranks of the node map, zero at first. Owned by the bootstrap.
struct SharedRegion {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  std::uint64_t job = 0;        // the job's random number
  int fd = -1;                  // the file that it maps, open as long as the region is; -1: private memory
  std::uint64_t fd_offset = 0;  // of `base` in the file
};

class ShmTransport final : public Transport {
 public:
  /// Bytes of the region for `size` ranks; every rank must use the same configuration.
  static std::size_t bytes_needed(int size, const Config& config);

  /// REQUIRES: region.bytes >= bytes_needed(size, config), region.base aligned to 64.
  /// `use_membarrier`: false for ranks that are threads (a kernel without it is found out by itself).
  ShmTransport(SharedRegion region, int rank, int size, const Config& config, bool use_membarrier);

  int endpoints() const override { return static_cast<int>(peers_.size()); }
  int self() const override { return rank_; }
  std::uint32_t bulk_bytes_max() const override { return static_cast<std::uint32_t>(bulk_capacity_ / 4); }
  bool reserve(int peer, std::uint32_t bulk_bytes, PacketRoom* room) override {
    shm::RingSender& sender = peers_[static_cast<std::size_t>(peer)].sender;
    return sender.reserve(bulk_bytes, room) || no_room(peer);
  }
  void commit(int peer, const PacketRoom& room) override {
    Peer& to = peers_[static_cast<std::size_t>(peer)];
    to.sender.commit(room, shm::publish_order(*to.has_membarrier));
    to.raise();
    shm::doorbell_ring_if_asleep(*to.bell);
  }
  bool put(int peer, const HeadWords& head, const void* data, std::uint32_t bytes) override {
    Peer& to = peers_[static_cast<std::size_t>(peer)];
    if (!to.sender.put(head, data, bytes, shm::publish_order(*to.has_membarrier))) [[unlikely]]
      return no_room(peer);
    to.raise();
    shm::doorbell_ring_if_asleep(*to.bell);
    return true;
  }
  Found take_if(int source, const HeadFilter& filter, void* buffer, std::uint64_t capacity,
                std::uint32_t looks, SmallPacket* taken) override;
  int poll(PacketSink& sink) override;
  std::uint32_t arm() override;
  bool sleep(std::uint32_t ticket, std::int64_t timeout_ns) override;
  void disarm() override;
  void ring() override;
  void wake(int peer) override {
    shm::Doorbell* bell = peers_[static_cast<std::size_t>(peer)].bell;
    if (bell != nullptr) shm::doorbell_ring_if_asleep(*bell);
  }
  bool sleeps_with_fence(int peer) const override {
    return peers_[static_cast<std::size_t>(peer)].has_membarrier->load(std::memory_order_relaxed) != 0;
  }
  std::byte* board(int from, int to) override;

  // foreign_peers.cpp
  ProcessName name(int endpoint) const override;
  bool address(PeerAddress* own, std::string* error) override;
  int join(const PeerAddress& address, std::string* error) override;
  void say_finishing() override;
  Presence presence(int endpoint) const override;
  bool is_silent(int endpoint) override;
  bool has_ended(int endpoint) const override;
  int endpoints_alive() const override;
  void leave() override;
  bool open_port(std::uint64_t port) override;
  void close_port(std::uint64_t port) override;
  bool has_port(const PeerAddress& owner, std::uint64_t port) override;

 private:
  struct Peer {
    shm::RingSender sender;
    shm::RingReceiver receiver;
    shm::Doorbell* bell;
    const std::atomic<std::uint32_t>* has_membarrier;  // both have it: see fence_of()
    shm::Raise raise{};
  };
  /// A process of another job.
  struct Foreign {
    PeerAddress address;
    std::unique_ptr<shm::Correspondent> to;  // null: cannot be sent to
    int inbound_slot = -1;                   // of the own mailbox, where its packets come; -1: none came yet
    bool ended = false;
    bool died = false;  // and not in good order
  };
  int poll_peer(int source, PacketSink& sink);
  void look_for_damage(PacketSink& sink);
  bool no_room(int peer);
  shm::Doorbell& own_bell() { return *own_bell_; }
  /// Where it stands whether the fence of the one that sleeps at `bell` reaches this process: never where
  /// this one is not registered for it. Once it does, so it stays.
  const std::atomic<std::uint32_t>* fence_of(const shm::Doorbell& bell) const {
    const bool registered = own_bell_->has_membarrier.load(std::memory_order_relaxed) != 0;
    return registered ? &bell.has_membarrier : &nobody_.has_membarrier;
  }
  Peer nowhere() {
    return {shm::RingSender::nowhere(), shm::RingReceiver(), &nobody_, &nobody_.has_membarrier};
  }

  // foreign_peers.cpp
  int poll_foreign(PacketSink& sink);
  bool find_senders(PacketSink& sink);
  void look_for_ended(PacketSink& sink);
  bool end(int endpoint, bool finalized);
  int find_foreign(const ProcessName& name) const;
  int add_foreign(const PeerAddress& address);
  bool open_foreign(int endpoint, std::string* error);
  void examine_soon();
  Foreign& foreign(int endpoint) { return foreign_[static_cast<std::size_t>(endpoint - size_)]; }

  SharedRegion region_;
  int rank_;
  int size_;
  std::uint64_t bulk_capacity_;
  int damaged_peer_ = -1;    // whose credits cannot be right
  std::uint32_t polls_ = 0;  // wraps around
  int armed_ = 0;            // threads of this rank between arm() and disarm()
  bool polling_ = false;
  shm::Attention attention_;
  shm::SmallHead gathered_;
  std::vector<Peer> peers_;            // by endpoint
  shm::Doorbell* own_bell_ = nullptr;  // not through peers_, which may grow while another thread sleeps

  // Of use once there is a mailbox. Correspondents go before the mailbox does.
  std::unique_ptr<shm::Mailbox> mailbox_;
  std::vector<Foreign> foreign_;  // by endpoint - size_
  std::map<ProcessName, int> foreign_by_name_;
  std::vector<int> inbound_;  // endpoints that send through the mailbox
  std::bitset<shm::kMailboxSlots> slots_known_;
  std::uint32_t opened_seen_ = 0;
  bool examination_due_ = false;  // the next poll looks who has ended
  std::int64_t examined_ns_ = 0;  // when the last one was asked for
  shm::Doorbell nobody_{};        // of peers that cannot be reached
};

}  // namespace tasuki

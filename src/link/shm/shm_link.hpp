// ShmLink: packets between the ranks of one node, through memory that all of them map.
//
// The link's region holds, where there are many ranks, the bits that say which rings are to be looked at
// (attention.hpp), then each rank's inbox, one ring per source, and the cells of each pair (cells.hpp). It is
// sized by the ranks of the node; those of other nodes are endpoints that nothing reaches (a LoopLink stands
// before it, which reaches them). Pages are touched only when used, so pairs that never talk cost address
// space alone. A rank is woken by its doorbell, which is Node's. Processes of other jobs have endpoints
// beyond the ranks and come through a mailbox (mailbox.hpp), which is made when the first of them is to be
// known; until then they cost a poll one comparison.
//
// Thread safety: as link.hpp. Each ShmLink object belongs to one rank; all share the region.
#pragma once

#include <bitset>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/variables/config.hpp"
#include "base/zero_table.hpp"
#include "link/link.hpp"
#include "link/shm/attention.hpp"
#include "link/shm/cells.hpp"
#include "link/shm/mailbox.hpp"
#include "link/shm/ring.hpp"
#include "memory/symmetric_heap.hpp"
#include "node/doorbells.hpp"

namespace tasuki {

class ShmLink final : public Link {
 public:
  /// The processes that the link connects.
  struct Job {
    std::uint64_t id = 0;    // the job's random number
    std::vector<int> ranks;  // those on this node, ascending
    int rank = 0;            // of this one
    int size = 0;            // of the job
  };

  /// Bytes of the region for `size` ranks on the node; every rank must use the same configuration.
  static std::size_t bytes_needed(int size, const Config& config);

  /// `region`: bytes_needed(job.ranks.size(), config) of memory that the ranks of the node map, zero at first
  /// and aligned to 64. `doorbells` are those of all ranks of the job. Both outlive the link.
  ShmLink(std::byte* region, Doorbells& doorbells, Job job, const Config& config);

  int endpoints() const override { return static_cast<int>(peers_.size()); }
  int self() const override { return rank_; }
  std::uint32_t bulk_bytes_max() const override { return shm::CellLayout::of(bulk_capacity_).cell_bytes; }
  bool reserve(int peer, std::uint32_t bulk_bytes, PacketRoom* room) override {
    Peer& to = peers_[static_cast<std::size_t>(peer)];
    return to.sender.reserve(bulk_bytes, to.cells, room) || no_room(peer);
  }
  void commit(int peer, const PacketRoom& room) override {
    Peer& to = peers_[static_cast<std::size_t>(peer)];
    to.sender.commit(room, to.cells, shm::publish_order(*to.wakes.has_membarrier));
    to.raise();
    shm::doorbell_ring_if_asleep(*to.wakes.bell);
  }
  bool put(int peer, const HeadWords& head, const void* data, std::uint32_t bytes) override {
    Peer& to = peers_[static_cast<std::size_t>(peer)];
    if (!to.sender.put(head, data, bytes, shm::publish_order(*to.wakes.has_membarrier))) [[unlikely]]
      return no_room(peer);
    to.raise();
    shm::doorbell_ring_if_asleep(*to.wakes.bell);
    return true;
  }
  bool prefers_bulk(int peer, std::uint32_t bytes) const override {
    return peer < size_ && peers_[static_cast<std::size_t>(peer)].sender.prefers_bulk(bytes);
  }
  bool takes_ahead(int peer, std::uint32_t bulks) override {
    return peer < size_ && peers_[static_cast<std::size_t>(peer)].cells.has(bulks);
  }
  Found take_if(int source, const HeadFilter& filter, void* buffer, std::uint64_t capacity,
                std::uint32_t looks, SmallPacket* taken) override;
  int poll(PacketSink& sink) override;
  void end_poll() override { poll_ended_ = true; }
  std::uint32_t arm() override;
  bool sleep(std::uint32_t ticket, std::int64_t timeout_ns) override;
  void disarm() override;
  void ring() override;

  // A key names memory of the peer's symmetric heap, which this rank maps: a put is a copy.
  bool can_put(int peer) const override { return peer < size_ && heap_ != nullptr; }
  bool register_memory(int peer, void* base, std::size_t bytes, MemoryKey* key) override;
  bool put_memory(int peer, const MemoryKey& key, std::uint64_t offset, const void* from, std::size_t bytes,
                  std::uint64_t* completed) override;
  bool get_memory(int peer, const MemoryKey& key, std::uint64_t offset, void* to, std::size_t bytes,
                  std::uint64_t* completed) override;
  void use_heap(SymmetricHeap& heap) override { heap_ = &heap; }

  // remote_jobs.cpp
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
  PortState port_state(const PeerAddress& owner, std::uint64_t port) override;
  int add_endpoint(const PeerAddress& address) override;
  int armed() const override { return armed_; }

 private:
  /// All zero: one of another node, which packets do not reach.
  struct Peer {
    shm::RingSender sender{};
    shm::RingReceiver receiver{};
    shm::Cells cells{};
    shm::Cells inbound{};  // of a process of another job: those in which its packets come
    Doorbells::Place wakes{};
    shm::Raise raise{};
    int number = 0;  // on the node
  };
  /// A process of another job.
  struct RemoteProcess {
    PeerAddress address;
    std::unique_ptr<shm::Correspondent> to;  // null: cannot be sent to
    int inbound_slot = -1;                   // of the own mailbox, where its packets come; -1: none came yet
    bool ended = false;
    bool died = false;  // and not in good order
  };
  int poll_peer(int source, PacketSink& sink);
  void look_for_damage(PacketSink& sink);
  bool no_room(int peer);
  shm::Doorbell& own_bell() { return doorbells_.own(); }
  Peer nowhere() { return {.wakes = doorbells_.nowhere()}; }
  static shm::Cells& cells_from(Peer& peer) {
    return peer.inbound.cell_bytes() == 0 ? peer.cells : peer.inbound;
  }
  /// The memory that `key` of `peer` names, from `offset` on; null: none that can be reached.
  std::byte* memory_at(int peer, const MemoryKey& key, std::uint64_t offset, std::size_t bytes);

  // remote_jobs.cpp
  int poll_remote(PacketSink& sink);
  bool find_senders(PacketSink& sink);
  void look_for_ended(PacketSink& sink);
  bool end(int endpoint, bool finalized);
  int find_remote(const ProcessName& name) const;
  int add_remote(const PeerAddress& address);
  bool open_remote(int endpoint, std::string* error);
  void examine_soon();
  RemoteProcess& remote(int endpoint) { return remote_[static_cast<std::size_t>(endpoint - size_)]; }

  Doorbells& doorbells_;
  const std::uint64_t job_;
  const std::vector<int> ranks_;  // of the node, by number
  int rank_;
  int size_;  // of the job
  SymmetricHeap* heap_ = nullptr;
  std::uint64_t bulk_capacity_;  // bytes of the cells that go one way between two ranks
  int damaged_peer_ = -1;        // whose credits cannot be right
  std::uint32_t polls_ = 0;      // wraps around
  int armed_ = 0;                // threads of this rank between arm() and disarm()
  bool polling_ = false;
  bool poll_ended_ = false;  // end_poll() has been called amid the packets of a peer
  shm::Attention attention_;
  shm::SmallHead gathered_;
  ZeroTable<Peer> peers_;  // by endpoint

  // Of use once there is a mailbox. Correspondents go before the mailbox does.
  std::unique_ptr<shm::Mailbox> mailbox_;
  std::vector<RemoteProcess> remote_;  // by endpoint - size_
  std::map<ProcessName, int> remote_by_name_;
  std::vector<int> inbound_;  // endpoints that send through the mailbox
  std::bitset<shm::kMailboxSlots> slots_known_;
  std::uint32_t opened_seen_ = 0;
  bool examination_due_ = false;  // the next poll looks which peers have ended
  std::int64_t examined_ns_ = 0;  // when the last one was asked for
};

}  // namespace tasuki

// LoopLink: packets between virtual nodes (mpiexec --nodes), which share a machine and behave as if they
// shared nothing but a network.
//
// What goes to another node of this job is copied into a ring of the ordered pair (loop_ring.hpp) and copied
// out again at the receiver. Each ordered pair is a link of its own: a packet that is committed at time t
// begins to travel when the link is free, occupies it for its bytes divided by the bandwidth, and is due one
// latency after its last byte has left. It is not delivered before. Where the nodes have links, too
// (NetworkModel::node_mb_per_second), a packet then goes through its node's link out and the other's link in,
// which it shares with the packets of all their ranks (node_adapter.hpp). Those links are shared about
// equally: an ordered pair has no more under way than they carry in 4 ms, and a packet of 4 KiB or less takes
// its time of them but does not wait for others' bytes, as networks send several messages in turns, packet by
// packet. That is all of the model.
//
// Ranks sleep and are woken by the doorbells of the link behind it. No rank sleeps past the time when a
// packet that it knows of is due: the system wakes sleepers late, so the last of that time is spent awake.
//
// A sender that has something for a rank sets a bit in its memory, so an idle poll looks at a word or two
// however many ranks there are, and a ring is touched only when it is used.
//
// Thread safety: as link.hpp. Each object belongs to one rank; all share the region.
//
// Invariants:
//  1. A ring that holds a packet is in active_, or its bit is set, or its sender is between publishing
//     the packet and setting it. The receiver takes the bits before it looks at the rings.
//  2. next_due_ns_ is no later than the time at which any packet that the last poll saw and left is due.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/system/clock.hpp"
#include "base/variables/config.hpp"
#include "link/link.hpp"
#include "link/loop/loop_ring.hpp"
#include "link/loop/node_adapter.hpp"
#include "link/outer_link.hpp"
#include "node/doorbells.hpp"

namespace tasuki {

/// What a link between two virtual nodes is like.
struct NetworkModel {
  std::int64_t latency_ns = 0;
  std::int64_t mb_per_second = 0;       // 10^6 bytes, between two ranks; 0: no limit
  std::int64_t node_mb_per_second = 0;  // out of a node, and into it; 0: no limit

  static NetworkModel of(const Config& config) {
    return {config.network_latency_ns, config.network_mb_per_second, config.network_node_mb_per_second};
  }
  std::int64_t occupied_ns(std::uint64_t bytes) const { return time_ns(bytes, mb_per_second); }
  std::int64_t node_occupied_ns(std::uint64_t bytes) const { return time_ns(bytes, node_mb_per_second); }

 private:
  static std::int64_t time_ns(std::uint64_t bytes, std::int64_t rate) {
    return rate == 0 ? 0 : static_cast<std::int64_t>(bytes * 1000 / static_cast<std::uint64_t>(rate));
  }
};

class LoopLink final : public OuterLink {
 public:
  /// Bytes of the region for `size` ranks.
  static std::size_t bytes_needed(int size);

  /// `region`: memory that all ranks of the job map, zero at first, of bytes_needed(nodes.size()), aligned to
  /// 64. `nodes[rank]` is the node of each rank of the job. `behind` connects those of the own node,
  /// and processes of other jobs; `doorbells` are those of all ranks.
  LoopLink(std::unique_ptr<Link> behind, Doorbells& doorbells, std::byte* region, std::vector<int> nodes,
           const NetworkModel& model, const Clock& clock);

  std::uint32_t bulk_bytes_max() const override;
  bool reserve(int peer, std::uint32_t bulk_bytes, PacketRoom* room) override;
  void commit(int peer, const PacketRoom& room) override;
  bool put(int peer, const HeadWords& head, const void* data, std::uint32_t bytes) override;
  Found take_if(int source, const HeadFilter& filter, void* buffer, std::uint64_t capacity,
                std::uint32_t looks, SmallPacket* taken) override;
  int poll(PacketSink& sink) override;
  bool sleep(std::uint32_t ticket, std::int64_t timeout_ns) override;

 private:
  using Word =
      std::atomic<std::uint64_t>;  // 64 senders' bits; writers: senders set, the receiver takes; seq_cst

  struct Wire {
    loop::LoopSender sender;
    loop::LoopReceiver receiver;
    loop::Record* reserved = nullptr;
    std::int64_t free_ns = 0;  // when the last packet's last byte leaves
    std::int64_t due_ns = 0;   // of the last packet
    Word* bits = nullptr;      // of the peer: the word that holds this rank's
    bool active = false;       // its packets are looked for at every poll
  };

  Wire& wire(int peer) { return wires_[static_cast<std::size_t>(peer)]; }
  void send(int peer, loop::Record* record, std::uint64_t bytes);
  std::int64_t pass_node_links(int peer, std::int64_t begin_ns, std::uint64_t bytes);
  bool no_room(int peer);
  void find_senders();
  int poll_wire(int source, std::int64_t now_ns, std::int64_t* next_due_ns, PacketSink& sink);

  Doorbells& doorbells_;
  const Clock& clock_;
  const NetworkModel model_;
  const std::uint64_t capacity_;       // of each ring that is used
  Word* bits_;                         // this rank's
  loop::NodeAdapter out_;              // of the own node
  std::vector<loop::NodeAdapter> in_;  // by node; empty: nodes have no links
  std::vector<Wire> wires_;            // by rank; those of the own node are not used
  std::vector<int> active_;            // ranks whose rings may hold packets
  bool polling_ = false;
  int damaged_peer_ = -1;                  // whose room given back cannot be right
  std::atomic<std::int64_t> next_due_ns_;  // relaxed; sleep() reads it without the process lock
};

}  // namespace tasuki

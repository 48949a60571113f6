// ShmTransport: the region's layout, polling and sleeping.
#include "link/shm/shm_link.hpp"

#include <algorithm>
#include <bit>

#include "base/hints.hpp"

namespace tasuki {
namespace {

using shm::AttentionBits;

constexpr int kPacketsPerPoll =
    32;  // of one source, so that a flood from one peer does not starve the others

constexpr std::uint32_t kPollsPerCheck = 1024;

/// Bulk bytes of one ring: as configured, else a share of 4 MiB per inbox within 32 KiB .. 256 KiB.
std::uint64_t ring_bulk_bytes(int size, const Config& config) {
  const std::size_t share = (std::size_t{4} << 20) / static_cast<std::size_t>(size);
  const std::size_t wanted =
      config.ring_bytes != 0 ? config.ring_bytes : std::clamp<std::size_t>(share, 32 * 1024, 256 * 1024);
  return std::bit_ceil(std::max<std::size_t>(wanted, 4096));
}

std::size_t ring_bytes(std::uint64_t bulk_capacity) {
  return sizeof(shm::RingShared) + bulk_capacity;
}

std::size_t doorbell_bytes(int size) {
  return sizeof(shm::Doorbell) * static_cast<std::size_t>(size);
}

std::size_t rings_offset(int size) {
  return doorbell_bytes(size) + AttentionBits::bytes_needed(size) * static_cast<std::size_t>(size);
}

/// Where the boards begin: behind the rings, each in a page of its own.
std::size_t boards_offset(int size, std::uint64_t bulk_capacity) {
  const auto ranks = static_cast<std::size_t>(size);
  const std::size_t rings_end = rings_offset(size) + ranks * ranks * ring_bytes(bulk_capacity);
  return (rings_end + kBoardBytes - 1) / kBoardBytes * kBoardBytes;
}

/// The bits of the receiver `rank`; none where all rings are watched.
AttentionBits attention_bits(const SharedRegion& region, int rank, int size) {
  const std::size_t bytes = AttentionBits::bytes_needed(size);
  if (bytes == 0) return {};
  return AttentionBits::at(region.base + doorbell_bytes(size) + bytes * static_cast<std::size_t>(rank), size);
}

shm::Raise raise_at(const SharedRegion& region, int sender, int receiver, int size) {
  const AttentionBits bits = attention_bits(region, receiver, size);
  return bits.waiting == nullptr ? shm::Raise() : shm::Raise(bits, sender);
}

}  // namespace

std::size_t ShmTransport::bytes_needed(int size, const Config& config) {
  const auto ranks = static_cast<std::size_t>(size);
  return boards_offset(size, ring_bulk_bytes(size, config)) + ranks * ranks * kBoardBytes;
}

std::byte* ShmTransport::board(int from, int to) {
  if (from >= size_ || to >= size_) return nullptr;
  const auto index =
      static_cast<std::size_t>(to) * static_cast<std::size_t>(size_) + static_cast<std::size_t>(from);
  return region_.base + boards_offset(size_, bulk_capacity_) + index * kBoardBytes;
}

ShmTransport::ShmTransport(SharedRegion region, int rank, int size, const Config& config, bool use_membarrier)
    : region_(region),
      rank_(rank),
      size_(size),
      bulk_capacity_(ring_bulk_bytes(size, config)),
      attention_(size, attention_bits(region, rank, size)) {
  auto* bells = reinterpret_cast<shm::Doorbell*>(region.base);
  const auto ring_at = [&](int from, int to) {
    const auto index =
        static_cast<std::size_t>(to) * static_cast<std::size_t>(size) + static_cast<std::size_t>(from);
    return reinterpret_cast<shm::RingShared*>(region.base + rings_offset(size) +
                                              index * ring_bytes(bulk_capacity_));
  };
  own_bell_ = bells + rank;
  shm::doorbell_open(*own_bell_, use_membarrier);
  peers_.resize(static_cast<std::size_t>(size));
  for (int peer = 0; peer < size; ++peer) {
    peers_[static_cast<std::size_t>(peer)] = {shm::RingSender(ring_at(rank, peer), bulk_capacity_),
                                              shm::RingReceiver(ring_at(peer, rank), bulk_capacity_),
                                              bells + peer, fence_of(bells[peer]),
                                              raise_at(region, rank, peer, size)};
  }
}

int ShmTransport::poll(PacketSink& sink) {
  if (polling_) return 0;
  polling_ = true;
  int delivered =
      attention_.poll(armed_ != 0, kPacketsPerPoll, [&](int source) { return poll_peer(source, sink); });
  if (mailbox_ != nullptr) [[unlikely]]
    delivered += poll_foreign(sink);
  if (armed_ != 0 || ++polls_ % kPollsPerCheck == 0) [[unlikely]]
    look_for_damage(sink);
  polling_ = false;
  return delivered;
}

/// False, for those who say so.
bool ShmTransport::no_room(int peer) {
  if (peers_[static_cast<std::size_t>(peer)].sender.is_damaged()) damaged_peer_ = peer;
  return false;
}

/// Before this rank sleeps, and now and then: for what would keep it waiting for ever.
void ShmTransport::look_for_damage(PacketSink& sink) {
  if (damaged_peer_ >= 0)
    sink.packet(damaged_packet(damaged_peer_, "more of what was sent is received than there is"));
  const auto look = [&](int source) {
    if (!peers_[static_cast<std::size_t>(source)].receiver.is_sound())
      sink.packet(damaged_packet(source, "the number of the packet to come"));
  };
  attention_.for_each_known(look);
  std::for_each(inbound_.begin(), inbound_.end(), look);
}

Found ShmTransport::take_if(int source, const HeadFilter& filter, void* buffer, std::uint64_t capacity,
                            std::uint32_t looks, SmallPacket* taken) {
  if (source >= size_ || polling_) [[unlikely]]
    return Found::kOther;
  Peer& peer = peers_[static_cast<std::size_t>(source)];
  Found found = peer.receiver.take_if(filter, buffer, capacity, taken);
  while (found == Found::kNothing && looks-- > 1) {
    relax_processor();
    found = peer.receiver.take_if(filter, buffer, capacity, taken);
  }
  if (found != Found::kTaken) return found;
  if (peer.receiver.take(shm::publish_order(*peer.has_membarrier))) shm::doorbell_ring_if_asleep(*peer.bell);
  if (!attention_.watches_all()) attention_.watch(source);
  return found;
}

int ShmTransport::poll_peer(int source, PacketSink& sink) {
  Peer& peer = peers_[static_cast<std::size_t>(source)];
  Packet packet;
  packet.source = source;
  int delivered = 0;
  while (delivered < kPacketsPerPoll && peer.receiver.peek(&packet, &gathered_)) {
    sink.packet(packet);
    ++delivered;
    if (peer.receiver.take(shm::publish_order(*peer.has_membarrier)))
      shm::doorbell_ring_if_asleep(*peer.bell);
  }
  return delivered;
}

std::uint32_t ShmTransport::arm() {
  ++armed_;
  if (!foreign_.empty()) examine_soon();
  return shm::doorbell_arm(own_bell());
}

bool ShmTransport::sleep(std::uint32_t ticket, std::int64_t timeout_ns) {
  return shm::doorbell_sleep(own_bell(), ticket, timeout_ns);
}

void ShmTransport::disarm() {
  if (--armed_ == 0) own_bell().sleeping.store(0, std::memory_order_relaxed);
}

void ShmTransport::ring() {
  shm::doorbell_ring(own_bell());
}

}  // namespace tasuki

// ShmLink: the region's layout, polling and sleeping.
#include "link/shm/shm_link.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/copy.hpp"
#include "base/system/processor_hints.hpp"
#include "memory/shared_segment.hpp"

namespace tasuki {
namespace {

using shm::AttentionBits;

constexpr int kPacketsPerPoll =
    32;  // of one source, so that a flood from one peer does not starve the others

constexpr std::uint32_t kPollsPerCheck = 1024;

/// Bytes of the cells one way: as configured, else a share of 4 MiB per inbox within 32 KiB .. 1 MiB.
std::uint64_t ring_bulk_bytes(int size, const Config& config) {
  const std::size_t share = (std::size_t{4} << 20) / static_cast<std::size_t>(size);
  const std::size_t wanted =
      config.ring_bytes != 0 ? config.ring_bytes : std::clamp<std::size_t>(share, 32 * 1024, 1024 * 1024);
  return std::bit_ceil(std::max<std::size_t>(wanted, 4096));
}

std::size_t rings_offset(int size) {
  return AttentionBits::bytes_needed(size) * static_cast<std::size_t>(size);
}

std::size_t cells_offset(int size) {
  const auto ranks = static_cast<std::size_t>(size);
  return round_to_pages(rings_offset(size) + ranks * ranks * sizeof(shm::RingShared));
}

/// Those of a pair, as its rank with the number `self` has them at first, and the rings between the two. For
/// a rank and itself there are half as many. Behind the cells of all pairs of lower ranks come those of a
/// rank and each lower one, then its own.
shm::Cells cells_between(std::byte* cells, std::uint64_t one_way_bytes, int self, int other,
                         shm::RingShared* to, shm::RingShared* from) {
  const auto [bytes, one_way] = shm::CellLayout::of(one_way_bytes);
  const auto high = static_cast<std::uint64_t>(std::max(self, other));
  const auto low = static_cast<std::uint64_t>(std::min(self, other));
  std::byte* const memory = cells + (high * high + 2 * low) * one_way_bytes;
  if (self == other) return {memory, {bytes, one_way, 0, one_way, 0}, nullptr, nullptr};
  return {memory,
          {bytes, 2 * one_way, self < other ? 0 : one_way, one_way, one_way / 8},
          &from->returns,
          &to->returns};
}

/// The bits of the receiver with that number on the node; none where all rings are watched.
AttentionBits attention_bits(std::byte* region, int number, int size) {
  const std::size_t bytes = AttentionBits::bytes_needed(size);
  if (bytes == 0) return {};
  return AttentionBits::at(region + bytes * static_cast<std::size_t>(number), size);
}

shm::Raise raise_at(std::byte* region, int sender, int receiver, int size) {
  const AttentionBits bits = attention_bits(region, receiver, size);
  return bits.waiting == nullptr ? shm::Raise() : shm::Raise(bits, sender);
}

int number_of(const std::vector<int>& ranks, int rank) {
  return static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

}  // namespace

std::size_t ShmLink::bytes_needed(int size, const Config& config) {
  const auto ranks = static_cast<std::size_t>(size);
  return cells_offset(size) + ranks * ranks * ring_bulk_bytes(size, config);
}

ShmLink::ShmLink(std::byte* region, Doorbells& doorbells, Job job, const Config& config)
    : doorbells_(doorbells),
      job_(job.id),
      ranks_(std::move(job.ranks)),
      rank_(job.rank),
      size_(job.size),
      bulk_capacity_(ring_bulk_bytes(static_cast<int>(ranks_.size()), config)),
      attention_(static_cast<int>(ranks_.size()),
                 attention_bits(region, number_of(ranks_, rank_), static_cast<int>(ranks_.size()))) {
  const auto on_node = static_cast<int>(ranks_.size());
  const int self = number_of(ranks_, rank_);
  const auto ring_at = [&](int from, int to) {
    const auto index = static_cast<std::size_t>(to) * ranks_.size() + static_cast<std::size_t>(from);
    return reinterpret_cast<shm::RingShared*>(region + rings_offset(on_node) +
                                              index * sizeof(shm::RingShared));
  };
  peers_.grow(static_cast<std::size_t>(size_));
  for (int number = 0; number < on_node; ++number) {
    const int peer = ranks_[static_cast<std::size_t>(number)];
    peers_[static_cast<std::size_t>(peer)] = {
        .sender = shm::RingSender(ring_at(self, number)),
        .receiver = shm::RingReceiver(ring_at(number, self)),
        .cells = cells_between(region + cells_offset(on_node), bulk_capacity_, self, number,
                               ring_at(self, number), ring_at(number, self)),
        .wakes = doorbells.place(peer),
        .raise = raise_at(region, self, number, on_node),
        .number = number};
  }
}

int ShmLink::poll(PacketSink& sink) {
  if (polling_) return 0;
  polling_ = true;
  int delivered = attention_.poll(armed_ != 0, kPacketsPerPoll, [&](int number) {
    return poll_peer(ranks_[static_cast<std::size_t>(number)], sink);
  });
  if (mailbox_ != nullptr) [[unlikely]]
    delivered += poll_remote(sink);
  if (armed_ != 0 || ++polls_ % kPollsPerCheck == 0) [[unlikely]]
    look_for_damage(sink);
  polling_ = false;
  return delivered;
}

/// Returns false, for callers that return it. Remembers a peer whose ring is damaged.
bool ShmLink::no_room(int peer) {
  if (peers_[static_cast<std::size_t>(peer)].sender.is_damaged()) damaged_peer_ = peer;
  return false;
}

/// Before this rank sleeps, and now and then: for what would keep it waiting for ever.
void ShmLink::look_for_damage(PacketSink& sink) {
  if (damaged_peer_ >= 0)
    sink.packet(damaged_packet(damaged_peer_, "more of what was sent is received than there is"));
  const auto look = [&](int source) {
    if (!peers_[static_cast<std::size_t>(source)].receiver.is_sound())
      sink.packet(damaged_packet(source, "the number of the packet to come"));
  };
  attention_.for_each_known([&](int number) { look(ranks_[static_cast<std::size_t>(number)]); });
  std::for_each(inbound_.begin(), inbound_.end(), look);
}

Found ShmLink::take_if(int source, const HeadFilter& filter, void* buffer, std::uint64_t capacity,
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
  if (peer.receiver.take(peer.cells, shm::publish_order(*peer.wakes.has_membarrier)))
    shm::doorbell_ring_if_asleep(*peer.wakes.bell);
  if (!attention_.watches_all()) attention_.watch(peer.number);
  return found;
}

int ShmLink::poll_peer(int source, PacketSink& sink) {
  Peer& peer = peers_[static_cast<std::size_t>(source)];
  Packet packet;
  packet.source = source;
  int delivered = 0;
  poll_ended_ = false;
  while (delivered < kPacketsPerPoll && peer.receiver.peek(cells_from(peer), &packet, &gathered_)) {
    sink.packet(packet);
    ++delivered;
    if (peer.receiver.take(cells_from(peer), shm::publish_order(*peer.wakes.has_membarrier)))
      shm::doorbell_ring_if_asleep(*peer.wakes.bell);
    if (poll_ended_) return kPacketsPerPoll;  // as one whose packets had not all been looked at
  }
  return delivered;
}

std::uint32_t ShmLink::arm() {
  ++armed_;
  if (!remote_.empty()) examine_soon();
  return shm::doorbell_arm(own_bell());
}

bool ShmLink::sleep(std::uint32_t ticket, std::int64_t timeout_ns) {
  return shm::doorbell_sleep(own_bell(), ticket, timeout_ns);
}

void ShmLink::disarm() {
  if (--armed_ == 0) own_bell().sleeping.store(0, std::memory_order_relaxed);
}

void ShmLink::ring() {
  shm::doorbell_ring(own_bell());
}

// ----- memory named by a key -------------------------------------------------------------------------------

bool ShmLink::register_memory(int peer, void* base, std::size_t bytes, MemoryKey* key) {
  const SymmetricAddress address = can_put(peer) ? heap_->locate(base, bytes).address : 0;
  *key = {address, bytes, 0};
  return address != 0;
}

std::byte* ShmLink::memory_at(int peer, const MemoryKey& key, std::uint64_t offset, std::size_t bytes) {
  if (offset > key.bytes || bytes > key.bytes - offset) return nullptr;
  if (!can_put(peer) || !heap_->locate(peer, key.word + offset, bytes).is_shared()) return nullptr;
  return reinterpret_cast<std::byte*>(key.word + offset);
}

bool ShmLink::put_memory(int peer, const MemoryKey& key, std::uint64_t offset, const void* from,
                         std::size_t bytes, std::uint64_t* completed) {
  std::byte* const to = memory_at(peer, key, offset, bytes);
  if (to == nullptr) return false;
  copy_bytes(to, from, bytes);
  ++*completed;
  return true;
}

bool ShmLink::get_memory(int peer, const MemoryKey& key, std::uint64_t offset, void* to, std::size_t bytes,
                         std::uint64_t* completed) {
  const std::byte* const from = memory_at(peer, key, offset, bytes);
  if (from == nullptr) return false;
  copy_bytes(to, from, bytes);
  ++*completed;
  return true;
}

}  // namespace tasuki

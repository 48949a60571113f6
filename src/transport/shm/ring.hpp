// A ring that carries packets from one rank to another through shared memory.
//
// It lies in the receiver's inbox and has two parts. The slots, 64 bytes each, hold a sequence number that is
// also the flag, and the packet's head: a short message moves as one cache line. The bulk ring holds the
// packets' bulk parts, in order, so their places need not be sent: both sides compute them.
//
// Ownership: every field of RingShared names its writer. RingSender and RingReceiver hold each side's private
// state.
//
// Invariants:
//  1. Slot i % kSlots holds packet i once its sequence == i + 1 (mod 2^32); the sender may fill it for packet
//  i when
//     i - slots_taken < kSlots.
//  2. A bulk part is contiguous, starts at a multiple of 64 and is skipped to the ring's start where it would
//  not fit
//     before its end. bulk_taken <= bulk_head <= bulk_taken + bulk capacity.
//  3. bulk_bytes_max == capacity / 4 and credits go back once a quarter is unreported, so a sender that waits
//  for
//     room always gets it once the receiver has taken everything: capacity - capacity/4 >= 2 *
//     bulk_bytes_max.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transport/transport.hpp"

namespace tasuki::shm {

inline constexpr std::uint32_t kSlots = 128;  // power of two
inline constexpr std::size_t kLineBytes = 64;

struct alignas(kLineBytes) Slot {
  std::atomic<std::uint32_t>
      sequence;                   // writer: sender; release publishes the rest of the slot and the bulk part
  std::uint32_t bulk_bytes;       // writer: sender
  std::byte head[kHeadBytesMax];  // writer: sender
};
static_assert(sizeof(Slot) == kLineBytes);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::uint64_t>::is_always_lock_free);

/// What the receiver gives back; read by the sender when it believes that the ring is full.
struct alignas(kLineBytes) Credits {
  std::atomic<std::uint32_t> slots_taken;  // writer: receiver; release
  std::atomic<std::uint64_t> bulk_taken;   // writer: receiver; release
};

/// The shared part; `bulk capacity` bytes follow it. All zero is the empty ring.
struct RingShared {
  Credits credits;
  Slot slots[kSlots];
  std::byte* bulk() { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(sizeof(RingShared) == (1 + kSlots) * kLineBytes);

inline std::uint64_t bulk_rounded(std::uint32_t bytes) {
  return (std::uint64_t{bytes} + kLineBytes - 1) / kLineBytes * kLineBytes;
}

/// Where a bulk part of `bytes` starts when the ring's position is `position`: there, or at the next lap's
/// start.
inline std::uint64_t bulk_start(std::uint64_t position, std::uint32_t bytes, std::uint64_t capacity) {
  const std::uint64_t left = capacity - (position & (capacity - 1));
  return bulk_rounded(bytes) <= left ? position : position + left;
}

class RingSender {
 public:
  RingSender() = default;
  /// `bulk_capacity` is a power of two.
  RingSender(RingShared* shared, std::uint64_t bulk_capacity)
      : shared_(shared), bulk_capacity_(bulk_capacity) {}
  /// One that never has room: for a receiver that is gone.
  static RingSender nowhere() {
    RingSender sender;
    sender.next_ = kSlots;
    return sender;
  }

  bool reserve(std::uint32_t bulk_bytes, PacketRoom* room) {
    if (!has_room(bulk_bytes)) {
      if (shared_ == nullptr) return false;
      slots_taken_ = shared_->credits.slots_taken.load(std::memory_order_seq_cst);
      bulk_taken_ = shared_->credits.bulk_taken.load(std::memory_order_seq_cst);
      if (!has_room(bulk_bytes)) return false;
    }
    room->head = shared_->slots[next_ % kSlots].head;
    room->bulk =
        shared_->bulk() + (bulk_start(bulk_head_, bulk_bytes, bulk_capacity_) & (bulk_capacity_ - 1));
    room->bulk_bytes = bulk_bytes;
    return true;
  }

  /// `order` is release, or seq_cst where the sender must see the peer's sleeping flag without a membarrier.
  void commit(const PacketRoom& room, std::memory_order order) {
    Slot& slot = shared_->slots[next_ % kSlots];
    slot.bulk_bytes = room.bulk_bytes;
    if (room.bulk_bytes != 0) bulk_head_ = bulk_end(room.bulk_bytes);
    slot.sequence.store(++next_, order);
  }

 private:
  std::uint64_t bulk_end(std::uint32_t bulk_bytes) const {
    return bulk_start(bulk_head_, bulk_bytes, bulk_capacity_) + bulk_rounded(bulk_bytes);
  }
  bool has_room(std::uint32_t bulk_bytes) const {
    if (next_ - slots_taken_ >= kSlots) return false;
    return bulk_bytes == 0 || bulk_end(bulk_bytes) - bulk_taken_ <= bulk_capacity_;
  }

  RingShared* shared_ = nullptr;
  std::uint64_t bulk_capacity_ = 0;
  std::uint64_t bulk_head_ = 0;    // bytes ever placed, skips included
  std::uint64_t bulk_taken_ = 0;   // last seen
  std::uint32_t next_ = 0;         // number of the next packet
  std::uint32_t slots_taken_ = 0;  // last seen
};

class RingReceiver {
 public:
  RingReceiver() = default;
  RingReceiver(RingShared* shared, std::uint64_t bulk_capacity)
      : shared_(shared), bulk_capacity_(bulk_capacity) {}

  /// Whether a packet is there; if so, fills `packet` (but for its source). It stays valid until take().
  bool peek(Packet* packet) {
    Slot& slot = shared_->slots[next_ % kSlots];
    // seq_cst, because after arm() this load must not be older than the sleeping flag's store (transport.hpp,
    // 5).
    if (slot.sequence.load(std::memory_order_seq_cst) != next_ + 1) return false;
    packet->head = slot.head;
    // A sender gone wild must not make this rank read outside the ring.
    packet->bulk_bytes = slot.bulk_bytes <= bulk_capacity_ / 4 ? slot.bulk_bytes : 0;
    const std::uint64_t start = bulk_start(bulk_tail_, packet->bulk_bytes, bulk_capacity_);
    packet->bulk = shared_->bulk() + (start & (bulk_capacity_ - 1));
    if (packet->bulk_bytes != 0) bulk_next_ = start + bulk_rounded(packet->bulk_bytes);
    return true;
  }

  /// Gives the peeked packet's room back. Returns whether credits were sent, so that a waiting sender is to
  /// be woken.
  bool take(std::memory_order order) {
    ++next_;
    bulk_tail_ = bulk_next_;
    if (next_ - slots_reported_ < kSlots / 4 && bulk_tail_ - bulk_reported_ < bulk_capacity_ / 4)
      return false;
    slots_reported_ = next_;
    bulk_reported_ = bulk_tail_;
    shared_->credits.bulk_taken.store(bulk_tail_, order);
    shared_->credits.slots_taken.store(next_, order);
    return true;
  }

 private:
  RingShared* shared_ = nullptr;
  std::uint64_t bulk_capacity_ = 0;
  std::uint64_t bulk_tail_ = 0;  // bytes taken, skips included
  std::uint64_t bulk_next_ = 0;  // bulk_tail_ once the peeked packet is taken
  std::uint64_t bulk_reported_ = 0;
  std::uint32_t next_ = 0;  // number of the packet to come
  std::uint32_t slots_reported_ = 0;
};

}  // namespace tasuki::shm

// A ring that carries packets from one rank to another through shared memory.
//
// It lies in the receiver's inbox. Its slots, 64 bytes each, begin with a sequence number that is also the
// flag. A small packet (put) takes as many slots as its data needs, each with a flag of its own: the receiver
// reads the first while the later ones are being written, and no line is waited for that holds nothing but a
// flag. Any other packet has one slot for its head and a cell for its bulk part (cells.hpp), which the slot
// names.
//
// Ownership: every field of RingShared names its writer. RingSender and RingReceiver hold each side's private
// state.
//
// Invariants:
//  1. Slot i % kSlots holds line i once its sequence == i + 1 (mod 2^32); the sender may fill it for line i
//  when i - slots_taken < kSlots. A line is a packet's first or one of those that follow it.
//  2. A bulk part lies in one cell, which is the sender's until the packet is committed, and the receiver's
//  once the packet is taken.
//  3. Slots go back once a quarter is unreported, and cells as cells.hpp says, so a sender that waits for
//  room always gets it once the receiver has taken everything: kSlots - kSlots/4 >= kPutLinesMax +
//  kSlotsForBulk.
//  4. What the other side wrote is checked before it is used: nothing outside the ring and its cells is
//  ever read or written.
//     peek(), is_sound() and is_damaged() report what cannot be right.
//  5. A packet counts as there when all of its lines are. A sender that is stopped in the middle of one keeps
//  no process: the receiver looks again at its next poll.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/system/processor_hints.hpp"
#include "link/link.hpp"
#include "link/shm/cells.hpp"

namespace tasuki::shm {

inline constexpr std::uint32_t kSlots = 128;  // power of two
inline constexpr std::size_t kLineBytes = 64;

struct alignas(kLineBytes) Slot {
  std::atomic<std::uint32_t>
      sequence;                   // writer: sender; release publishes the rest of the slot, and the bulk
  std::uint32_t sizes;            // writer: sender; kSmall and the bytes of data, or bytes and cell
  std::byte head[kHeadBytesMax];  // writer: sender

  // What a packet's later lines hold instead of `sizes` and `head`.
  std::byte* more() { return reinterpret_cast<std::byte*>(this) + sizeof sequence; }
  const std::byte* more() const { return reinterpret_cast<const std::byte*>(this) + sizeof sequence; }
};
static_assert(sizeof(Slot) == kLineBytes);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::uint64_t>::is_always_lock_free);

inline constexpr std::uint32_t kSmall = 1U << 31;  // in Slot::sizes: the packet was sent by put()
/// Else: the bytes of the bulk part and, above them, its cell.
inline constexpr int kCellAt = 24;
inline constexpr std::uint32_t kBulkBytesMax = (1U << kCellAt) - 1;
static_assert(std::uint64_t{kCellsMax} << kCellAt <= kSmall);
inline constexpr std::uint32_t kFirstLineBytes = kHeadBytesMax - sizeof(HeadWords);
inline constexpr std::uint32_t kMoreLineBytes = kLineBytes - sizeof(std::uint32_t);
inline constexpr std::uint32_t kPutLinesMax = 1 + (kPutBytesMax - kFirstLineBytes) / kMoreLineBytes;
static_assert(kFirstLineBytes + (kPutLinesMax - 1) * kMoreLineBytes == kPutBytesMax, "no line half used");

/// Slots that small packets of several lines leave free, unless the receiver takes lines as they come. A
/// sender that is so far ahead of a receiver that takes nothing uses them for bulk parts, one slot each.
inline constexpr std::uint32_t kSlotsForBulk = kSlots * 3 / 8;
static_assert(kPutLinesMax + kSlotsForBulk <= kSlots - kSlots / 4);

/// Lines of a small packet with more data than its first line holds.
constexpr std::uint32_t lines_of(std::uint32_t bytes) {
  return 1 + (bytes - kFirstLineBytes + kMoreLineBytes - 1) / kMoreLineBytes;
}

template <std::size_t kWidth>
inline void copy_ends(std::byte* to, const std::byte* from, std::uint32_t bytes) {
  std::memcpy(to, from, kWidth);
  std::memcpy(to + bytes - kWidth, from + bytes - kWidth, kWidth);
}

/// Copies up to 64 bytes in two moves that may overlap: a call of memcpy costs more than that.
inline void copy_line(std::byte* to, const std::byte* from, std::uint32_t bytes) {
  if (bytes == 8) {  // one number: the usual case of those where every instruction counts
    std::memcpy(to, from, 8);
  } else if (bytes >= 32) {
    copy_ends<32>(to, from, bytes);
  } else if (bytes >= 16) {
    copy_ends<16>(to, from, bytes);
  } else if (bytes >= 8) {
    copy_ends<8>(to, from, bytes);
  } else if (bytes >= 4) {
    copy_ends<4>(to, from, bytes);
  } else if (bytes >= 2) {
    copy_ends<2>(to, from, bytes);
  } else if (bytes == 1) {
    *to = *from;
  }
}

/// Room for the head of the largest small packet, in one piece.
struct SmallHead {
  alignas(8) std::byte bytes[sizeof(HeadWords) + kPutBytesMax];
};

/// What the receiver gives back; read by the sender when it believes that the ring is full.
struct alignas(kLineBytes) Credits {
  std::atomic<std::uint32_t> slots_taken;  // writer: receiver; release
};

/// The shared part. All zero is the empty ring.
struct RingShared {
  Credits credits;
  Returns returns;
  Slot slots[kSlots];
};
static_assert(sizeof(RingShared) == sizeof(Returns) + (1 + kSlots) * kLineBytes);

/// Stores with release or seq_cst, as `order` says at run time. A store whose order the compiler does not
/// know is a seq_cst one, that is a full fence.
template <class T>
inline void publish(std::atomic<T>& field, T value, std::memory_order order) {
  if (order == std::memory_order_release) [[likely]] {
    field.store(value, std::memory_order_release);
  } else {
    field.store(value, std::memory_order_seq_cst);
  }
}

/// Of no ring, it never has room.
class RingSender {
 public:
  RingSender() = default;
  explicit RingSender(RingShared* shared) : shared_(shared), end_(kSlots) {}

  /// Whether what the receiver gave back cannot be right. Then there is no room any more.
  bool is_damaged() const { return damaged_; }

  bool reserve(std::uint32_t bulk_bytes, Cells& cells, PacketRoom* room) {
    const bool has_bulk = bulk_bytes != 0;
    if (!(has_room(1) && !(has_bulk && cells.empty())) && !finds_room(1, has_bulk ? &cells : nullptr))
      return false;
    room->head = shared_->slots[next_ % kSlots].head;
    room->bulk = has_bulk ? cells.at(cells.next()) : nullptr;
    room->bulk_bytes = bulk_bytes;
    return true;
  }

  /// Link::prefers_bulk().
  bool prefers_bulk(std::uint32_t bytes) const {
    return bytes > kFirstLineBytes && looks_in_vain_ >= kLooksInVain;
  }

  /// `order` is release, or seq_cst where the sender must see the peer's sleeping flag without a membarrier.
  void commit(const PacketRoom& room, Cells& cells, std::memory_order order) {
    Slot& slot = shared_->slots[next_ % kSlots];
    slot.sizes = room.bulk_bytes;
    if (room.bulk_bytes != 0) slot.sizes |= cells.send(room.bulk) << kCellAt;
    publish(slot.sequence, ++next_, order);
  }

  /// A small packet in one step: Link::put(). `order` as of commit().
  bool put(const HeadWords& head, const void* data, std::uint32_t bytes, std::memory_order order) {
    if (bytes > kFirstLineBytes) return put_lines(head, static_cast<const std::byte*>(data), bytes, order);
    if (!has_room(1) && !finds_room(1, nullptr)) [[unlikely]]
      return false;
    Slot& slot = shared_->slots[next_ % kSlots];
    slot.sizes = kSmall | bytes;
    std::memcpy(slot.head, &head, sizeof head);
    copy_line(slot.head + sizeof head, static_cast<const std::byte*>(data), bytes);
    publish(slot.sequence, ++next_, order);
    return true;
  }

 private:
  bool has_room(std::uint32_t lines) const { return end_ - next_ >= lines; }
  /// A receiver that was waited for and took some soon, again and again, is at work; one that did not is not.
  void note_look(bool taken) {
    if (!taken) {
      if (++looks_in_vain_ < kLooksInVain) return;
      times_soon_ = 0;
      slots_kept_ = kSlotsForBulk;
      return;
    }
    const bool soon = looks_in_vain_ > 0 && looks_in_vain_ < kLooksInVain;
    if (soon && ++times_soon_ >= kTimesSoon) slots_kept_ = 0;
    looks_in_vain_ = 0;
  }
  /// `cells`: where the packet needs one; else null.
  [[gnu::noinline]] bool finds_room(std::uint32_t lines, Cells* cells) {
    if (shared_ == nullptr) return false;
    const std::uint32_t end = shared_->credits.slots_taken.load(std::memory_order_seq_cst) + kSlots;
    note_look(end != end_);
    end_ = end;
    if (cells != nullptr) cells->take_back();
    damaged_ = damaged_ || end_ - next_ > kSlots || (cells != nullptr && cells->is_damaged());
    if (damaged_) end_ = next_;
    return has_room(lines) && (cells == nullptr || !cells->empty());
  }
  [[gnu::noinline]] bool put_lines(const HeadWords& head, const std::byte* data, std::uint32_t bytes,
                                   std::memory_order order) {
    const std::uint32_t lines = lines_of(bytes);
    const std::uint32_t slots = lines + slots_kept_;
    if (!has_room(slots) && !finds_room(slots, nullptr)) return false;
    Slot& first = shared_->slots[next_ % kSlots];
    first.sizes = kSmall | bytes;
    std::memcpy(first.head, &head, sizeof head);
    std::memcpy(first.head + sizeof head, data, kFirstLineBytes);
    first.sequence.store(++next_, std::memory_order_release);
    data += kFirstLineBytes;
    std::uint32_t left = bytes - kFirstLineBytes;
    for (; left > kMoreLineBytes; left -= kMoreLineBytes) {
      Slot& slot = shared_->slots[next_ % kSlots];
      std::memcpy(slot.more(), data, kMoreLineBytes);
      slot.sequence.store(++next_, std::memory_order_release);
      data += kMoreLineBytes;
    }
    Slot& last = shared_->slots[next_ % kSlots];
    copy_line(last.more(), data, left);
    publish(last.sequence, ++next_, order);
    // The next message is likely as large. Its first line the receiver is looking at; the others can be here
    // when they are written. With few lines that only takes them from a receiver that is still reading.
    if (lines < kLinesToPrepare) return true;
    for (std::uint32_t line = 1; line < lines; ++line) {
      prefetch_to_write(&shared_->slots[(next_ + line) % kSlots]);
    }
    return true;
  }

  static constexpr std::uint32_t kLinesToPrepare = 8;
  static constexpr std::uint32_t kTimesSoon = 16;
  static constexpr std::uint32_t kLooksInVain = 256;  // some microseconds, in which a receiver takes lines

  RingShared* shared_ = nullptr;
  std::uint32_t next_ = 0;           // number of the next line
  std::uint32_t end_ = 0;            // of the first one that, as far as was seen last, has no room
  std::uint32_t looks_in_vain_ = 0;  // for room since the receiver was last seen to have taken lines
  std::uint32_t times_soon_ = 0;     // that it had after some looks, but not many
  std::uint32_t slots_kept_ = kSlotsForBulk;
  bool damaged_ = false;
};

class RingReceiver {
 public:
  RingReceiver() = default;
  explicit RingReceiver(RingShared* shared) : shared_(shared) {}

  /// Whether a packet is there; if so, fills `packet` (but for its source). It stays valid until take().
  /// The head of a small packet of several lines is put together in `gathered`.
  bool peek(const Cells& cells, Packet* packet, SmallHead* gathered) {
    Slot& slot = shared_->slots[next_ % kSlots];
    // seq_cst, because after arm() this load must not be older than the sleeping flag's store (link.hpp,
    // 5).
    if (slot.sequence.load(std::memory_order_seq_cst) != next_ + 1) return false;
    packet->head = slot.head;
    packet->data_bytes = 0;
    packet->bulk_bytes = 0;
    packet->bulk = nullptr;
    lines_ = 1;
    cell_ = kNoCell;
    const std::uint32_t sizes = sizes_of(slot);
    if ((sizes & kSmall) != 0) {
      packet->data_bytes = sizes & ~kSmall;
      if (packet->data_bytes <= kFirstLineBytes) return true;
      if (packet->data_bytes > kPutBytesMax) [[unlikely]]
        return tell_damage(packet, "a small packet that is longer than any");
      if (!all_lines_are_there(packet->data_bytes)) return false;
      std::memcpy(gathered->bytes, slot.head, sizeof(HeadWords));
      gather(gathered->bytes + sizeof(HeadWords), packet->data_bytes);
      packet->head = gathered->bytes;
      lines_ = lines_of(packet->data_bytes);
      return true;
    }
    packet->bulk_bytes = sizes & kBulkBytesMax;
    if (packet->bulk_bytes == 0) return true;
    const std::uint32_t cell = sizes >> kCellAt;
    if (packet->bulk_bytes > cells.cell_bytes() || !cells.may_come(cell)) [[unlikely]]
      return tell_damage(packet, "a packet that is longer than any, or in a cell that its sender has not");
    cell_ = cell;
    packet->bulk = cells.at(cell);
    // The lines come while the packet is matched.
    const std::uint32_t ahead = std::min(packet->bulk_bytes, kPrefetchBytes);
    for (std::uint32_t at = 0; at < ahead; at += kLineBytes) __builtin_prefetch(packet->bulk + at);
    return true;
  }

  /// Whether the flags of the lines to come are what they can be: each that of this lap or of the one before.
  /// A flag that was overwritten would keep the packet, and all behind it, for ever.
  bool is_sound() const {
    for (std::uint32_t line = next_; line != next_ + kPutLinesMax; ++line) {
      const std::uint32_t sequence = shared_->slots[line % kSlots].sequence.load(std::memory_order_relaxed);
      if (sequence == line + 1) continue;
      return sequence == line + 1 - kSlots || (sequence == 0 && line < kSlots);
    }
    return true;
  }

  /// Link::take_if(), with one look. After kTaken, take() is to be called.
  Found take_if(const HeadFilter& filter, void* buffer, std::uint64_t capacity, SmallPacket* taken) {
    Slot& slot = shared_->slots[next_ % kSlots];
    if (slot.sequence.load(std::memory_order_acquire) != next_ + 1) return Found::kNothing;
    const std::uint32_t sizes = sizes_of(slot);
    if ((sizes & kSmall) == 0) return Found::kOther;
    std::memcpy(&taken->head, slot.head, sizeof taken->head);
    const std::uint32_t bytes = sizes & ~kSmall;
    taken->bytes = bytes;
    if (!filter.passes(taken->head) || bytes > capacity) return Found::kOther;
    lines_ = 1;
    auto* const to = static_cast<std::byte*>(buffer);
    if (bytes <= kFirstLineBytes) {
      copy_line(to, slot.head + sizeof(HeadWords), bytes);
      return Found::kTaken;
    }
    if (bytes <= kFirstLineBytes + kMoreLineBytes) {  // as all_lines_are_there() and gather(), unrolled
      const Slot& second = shared_->slots[(next_ + 1) % kSlots];
      for (std::uint32_t looks = 0; second.sequence.load(std::memory_order_acquire) != next_ + 2; ++looks) {
        if (looks == kLooksForLines) return Found::kNothing;
        relax_processor();
      }
      std::memcpy(to, slot.head + sizeof(HeadWords), kFirstLineBytes);
      copy_line(to + kFirstLineBytes, second.more(), bytes - kFirstLineBytes);
      lines_ = 2;
      return Found::kTaken;
    }
    if (bytes > kPutBytesMax) [[unlikely]]
      return Found::kOther;  // peek() reports it
    if (!all_lines_are_there(bytes)) return Found::kNothing;
    gather(to, bytes);
    lines_ = lines_of(bytes);
    return Found::kTaken;
  }

  /// Gives the room of the packet that was peeked or taken back, or keeps its cell. Returns whether the
  /// sender has got any, so that it is to be woken if it waits.
  bool take(Cells& cells, std::memory_order order) {
    next_ += lines_;
    bool gives_cells = false;
    if (cell_ != kNoCell) {
      gives_cells = cells.receive(cell_, order);
      cell_ = kNoCell;
    }
    if (next_ - slots_reported_ < kSlots / 4) return gives_cells;
    slots_reported_ = next_;
    publish(shared_->credits.slots_taken, next_, order);
    return true;
  }

 private:
  /// Once: a sender gone wild may change them while they are looked at.
  static std::uint32_t sizes_of(const Slot& slot) { return __atomic_load_n(&slot.sizes, __ATOMIC_RELAXED); }
  static bool tell_damage(Packet* packet, const char* what) {
    *packet = damaged_packet(packet->source, what);
    return true;
  }
  /// Whether the lines behind a small packet's first one are there. The sender is about to write them, so
  /// they are worth a short wait; a sender that was stopped is not.
  [[gnu::noinline]] bool all_lines_are_there(std::uint32_t bytes) const {
    const std::uint32_t lines = lines_of(bytes);
    std::uint32_t looks = 4 * kLooksForLines;
    for (std::uint32_t line = 1; line < lines; ++line) {
      const Slot& slot = shared_->slots[(next_ + line) % kSlots];
      while (slot.sequence.load(std::memory_order_seq_cst) != next_ + line + 1) {
        if (looks-- == 0) return false;
      }
    }
    return true;
  }
  /// The data of a small packet of several lines, all of which are there.
  [[gnu::noinline]] void gather(std::byte* to, std::uint32_t bytes) const {
    std::memcpy(to, shared_->slots[next_ % kSlots].head + sizeof(HeadWords), kFirstLineBytes);
    to += kFirstLineBytes;
    std::uint32_t line = next_ + 1;
    std::uint32_t left = bytes - kFirstLineBytes;
    for (; left > kMoreLineBytes; left -= kMoreLineBytes) {
      std::memcpy(to, shared_->slots[line++ % kSlots].more(), kMoreLineBytes);
      to += kMoreLineBytes;
    }
    copy_line(to, shared_->slots[line % kSlots].more(), left);
  }

  static constexpr std::uint32_t kLooksForLines = 64;
  static constexpr std::uint32_t kPrefetchBytes = 16 * kLineBytes;

  RingShared* shared_ = nullptr;
  std::uint32_t next_ = 0;        // number of the line to come
  std::uint32_t lines_ = 1;       // of the packet that was peeked
  std::uint32_t cell_ = kNoCell;  // of its bulk part
  std::uint32_t slots_reported_ = 0;
};

}  // namespace tasuki::shm

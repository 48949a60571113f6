// Cells: the memory through which the bulk parts of packets go, in two copies.
//
// A cell belongs to one of two ranks, and only that rank writes to it. It goes with the packet that it
// carries: the receiver has read it, so its lines are in the receiver's caches, and the receiver sends with
// it next. Where two ranks take turns a line travels once for each message. If the cell stayed the sender's,
// a line would travel twice, to be written and to be read (docs/protocols.md; `make past-caches` measures
// both).
//
// Half of a pair's cells are each rank's at first. A rank that only receives comes to have more; it gives
// what is too much back, by their numbers in the ring's Returns. Those that have not been used for longest go
// first, and those that came last are sent with first, so few are in use at a time, and in the caches. Where
// cells go one way only (mailbox.hpp) all are the sender's, and the receiver gives each back.
//
// Ownership: each rank's Cells are its own knowledge; the bytes, and what names its writer, are shared.
// Thread safety: none.
//
// Invariants:
//  1. A cell is one rank's, or on its way with a packet, or among the Returns.
//  2. A rank that has taken all that was sent to it has at most its share and an eighth of it. What its peer
//     has given back counts as its own. So its peer, which waits for a cell, gets one.
//  3. Numbers that the other rank has written are checked: one that cannot be names no memory.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tasuki::shm {

inline constexpr std::uint32_t kCellsMax = 128;  // of a pair; a power of two
inline constexpr std::uint32_t kNoCell = UINT32_MAX;

/// Cells that a receiver gives back: the last ones, by their place among all that it ever gave.
struct alignas(64) Returns {
  std::atomic<std::uint32_t> count;  // writer of both: receiver; release publishes the numbers
  std::array<std::atomic<std::uint8_t>, kCellsMax> cells;
};

/// How the bytes that go one way are cut into cells. Two ranks have twice as many for both ways.
struct CellLayout {
  std::uint32_t cell_bytes;
  std::uint32_t cells;

  /// As many as may be, so that many short messages are ahead of their receiver, but of some KiB each.
  /// REQUIRES: `bytes` is a power of two, 4096 at least.
  static constexpr CellLayout of(std::uint64_t bytes) {
    constexpr std::uint64_t kCellBytesMin = 4096, kCellsMin = 8;
    const std::uint64_t cells = std::clamp<std::uint64_t>(bytes / kCellBytesMin, kCellsMin, kCellsMax / 2);
    return {static_cast<std::uint32_t>(bytes / cells), static_cast<std::uint32_t>(cells)};
  }
};

class Cells {
 public:
  /// None: it never has any.
  Cells() = default;
  /// Cells at `memory` that a rank has at first: of `count` those from `first` on, `own` of them. It keeps so
  /// many, and `spare` more.
  struct Share {
    std::uint32_t cell_bytes;
    std::uint32_t count;
    std::uint32_t first;
    std::uint32_t own;
    std::uint32_t spare;
  };
  /// `given`: where this rank gives some back; `coming`: where its peer does; null: it never does.
  Cells(std::byte* memory, const Share& share, Returns* given, const Returns* coming)
      : memory_(memory),
        given_(given),
        coming_(coming),
        cell_bytes_(share.cell_bytes),
        count_(share.count),
        share_(share.own),
        spare_(share.spare) {
    for (std::uint32_t cell = share.first + share.own; cell != share.first; --cell) push(cell - 1);
  }

  std::uint32_t cell_bytes() const { return cell_bytes_; }
  bool empty() const { return first_ == end_; }
  std::uint32_t owned() const { return end_ - first_; }
  /// Whether there are so many, with what the receiver has given back.
  bool has(std::uint32_t cells) {
    if (owned() < cells) take_back();
    return owned() >= cells;
  }
  std::byte* at(std::uint32_t cell) const { return memory_ + std::size_t{cell} * cell_bytes_; }

  /// The cell to send with next: the one that came last. REQUIRES: !empty().
  std::uint32_t next() const { return order_[(end_ - 1) % kCellsMax]; }
  /// The cell at that address, which next() gave, leaves with a packet.
  std::uint32_t send(const std::byte* at) {
    const auto cell = static_cast<std::uint32_t>(static_cast<std::size_t>(at - memory_) / cell_bytes_);
    std::uint32_t place = end_ - 1;
    while (order_[place % kCellsMax] != cell) --place;  // some may have come meanwhile
    for (; place != end_ - 1; ++place) order_[place % kCellsMax] = order_[(place + 1) % kCellsMax];
    --end_;
    disown(cell);
    return cell;
  }

  /// Whether that one can have come with a packet.
  bool may_come(std::uint32_t cell) const { return cell < count_ && (owned_[cell / 64] & bit(cell)) == 0; }
  /// It has come, and has been read. Gives back what is too much, a good part at a time; returns whether.
  bool receive(std::uint32_t cell, std::memory_order order) {
    push(cell);
    take_back();
    if (owned() <= share_ + spare_ || given_ == nullptr) return false;
    while (owned() > share_) {
      const std::uint8_t given = order_[first_++ % kCellsMax];
      disown(given);
      given_->cells[given_back_++ % kCellsMax].store(given, std::memory_order_relaxed);
    }
    given_->count.store(given_back_, order);
    return true;
  }

  /// Takes what the receiver has given back, to be used after all that came with packets.
  void take_back() {
    if (coming_ == nullptr) return;
    const std::uint32_t count = coming_->count.load(std::memory_order_seq_cst);
    if (count == taken_back_) return;
    damaged_ = damaged_ || count - taken_back_ > count_;
    for (; !damaged_ && taken_back_ != count; ++taken_back_) {
      const std::uint32_t cell = coming_->cells[taken_back_ % kCellsMax].load(std::memory_order_relaxed);
      damaged_ = !may_come(cell);
      if (damaged_) return;
      order_[--first_ % kCellsMax] = static_cast<std::uint8_t>(cell);
      own(cell);
    }
  }
  /// Whether what it has given back cannot be right. Then nothing more is taken.
  bool is_damaged() const { return damaged_; }

 private:
  static std::uint64_t bit(std::uint32_t cell) { return std::uint64_t{1} << cell % 64; }
  void own(std::uint32_t cell) { owned_[cell / 64] |= bit(cell); }
  void disown(std::uint32_t cell) { owned_[cell / 64] &= ~bit(cell); }
  void push(std::uint32_t cell) {
    order_[end_++ % kCellsMax] = static_cast<std::uint8_t>(cell);
    own(cell);
  }

  std::byte* memory_ = nullptr;
  Returns* given_ = nullptr;
  const Returns* coming_ = nullptr;
  std::uint32_t cell_bytes_ = 0;
  std::uint32_t count_ = 0;  // in all
  std::uint32_t share_ = 0;
  std::uint32_t spare_ = 0;
  std::uint32_t first_ = 0;       // of `order_`, as places that go on and on
  std::uint32_t end_ = 0;         //
  std::uint32_t given_back_ = 0;  // in all
  std::uint32_t taken_back_ = 0;  // of the peer's Returns
  bool damaged_ = false;
  std::array<std::uint64_t, kCellsMax / 64> owned_{};  // bit: cell
  std::array<std::uint8_t, kCellsMax> order_{};        // own cells: the one unused for longest first
};

}  // namespace tasuki::shm

// A ring that carries packets from one rank to a rank of another virtual node: a wire that is memory.
//
// It is a ring of bytes with one writer and one reader. A packet is a record: a line that says what it is and
// when it is due, its head, and its bulk, all contiguous. Records lie in the order in which they were sent,
// and each is due no earlier than the one before it.
//
// Ownership: each field of LoopRingShared names its writer. LoopSender and LoopReceiver hold each side's
// private state.
//
// Invariants:
//  1. taken <= written <= taken + capacity; both only grow. The bytes between them hold whole records.
//  2. A record begins at a multiple of kLoopLineBytes and does not wrap: where the next one would not
//     fit before the end, a record of kind kSkip fills the rest.
//  3. A packet takes at most capacity / 4 and two lines, and the reader reports at least every quarter
//     that it took; so a writer that waits for room gets it once the reader has taken everything.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "link/link.hpp"

namespace tasuki::loop {

inline constexpr std::size_t kLoopLineBytes = 64;

constexpr std::uint64_t round_to_lines(std::uint64_t bytes) {
  return (bytes + kLoopLineBytes - 1) / kLoopLineBytes * kLoopLineBytes;
}

enum class RecordKind : std::uint32_t { kNone, kSkip, kPacket, kSmall };

/// The first line of a packet. Writer: the sender, before it publishes `written`.
struct alignas(kLoopLineBytes) Record {
  std::int64_t due_ns;  // on clock_ns(): not to be delivered before
  RecordKind kind;
  std::uint32_t bytes;  // of bulk, or of the data of a small packet

  std::byte* head() { return reinterpret_cast<std::byte*>(this + 1); }
  std::byte* bulk() { return head() + kLoopLineBytes; }
};
static_assert(sizeof(Record) == kLoopLineBytes && kHeadBytesMax <= kLoopLineBytes);

/// What a record of that kind takes in the ring.
constexpr std::uint64_t span_of(RecordKind kind, std::uint32_t bytes) {
  return sizeof(Record) + (kind == RecordKind::kSmall ? round_to_lines(sizeof(HeadWords) + bytes)
                                                      : kLoopLineBytes + round_to_lines(bytes));
}

/// `capacity` bytes follow it. All zero is the empty ring.
struct LoopRingShared {
  alignas(
      kLoopLineBytes) std::atomic<std::uint64_t> written;    // writer: sender; seq_cst, publishes the records
  alignas(kLoopLineBytes) std::atomic<std::uint64_t> taken;  // writer: receiver; seq_cst
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
  Record* at(std::uint64_t position, std::uint64_t capacity) {
    return reinterpret_cast<Record*>(bytes() + (position & (capacity - 1)));
  }
};
static_assert(sizeof(LoopRingShared) == 2 * kLoopLineBytes);

class LoopSender {
 public:
  LoopSender() = default;
  /// `capacity` is a power of two.
  LoopSender(LoopRingShared* shared, std::uint64_t capacity) : shared_(shared), capacity_(capacity) {}

  /// Whether what the receiver gave back cannot be right. Then there is no room any more.
  bool is_damaged() const { return damaged_; }

  /// Room for a record, or null: the ring is full.
  Record* reserve(RecordKind kind, std::uint32_t bytes) {
    const std::uint64_t span = span_of(kind, bytes);
    const std::uint64_t left = capacity_ - (written_ & (capacity_ - 1));
    const std::uint64_t skip = span > left ? left : 0;
    if (!has_room(skip + span)) {
      // seq_cst: after arm() this load must not be older than the sleeping flag's store (link.hpp, 5).
      taken_ = shared_->taken.load(std::memory_order_seq_cst);
      damaged_ = damaged_ || written_ - taken_ > capacity_;
      if (damaged_ || !has_room(skip + span)) return nullptr;
    }
    if (skip != 0) shared_->at(written_, capacity_)->kind = RecordKind::kSkip;
    end_ = written_ + skip + span;
    Record* const record = shared_->at(written_ + skip, capacity_);
    record->kind = kind;
    record->bytes = bytes;
    return record;
  }

  /// Publishes the record that reserve() gave.
  void commit(Record* record, std::int64_t due_ns) {
    record->due_ns = due_ns;
    written_ = end_;
    shared_->written.store(written_, std::memory_order_seq_cst);
  }

 private:
  bool has_room(std::uint64_t bytes) const { return written_ + bytes - taken_ <= capacity_; }

  LoopRingShared* shared_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t end_ = 0;    // of the record that is reserved
  std::uint64_t taken_ = 0;  // last seen
  bool damaged_ = false;
};

class LoopReceiver {
 public:
  LoopReceiver() = default;
  LoopReceiver(LoopRingShared* shared, std::uint64_t capacity) : shared_(shared), capacity_(capacity) {}

  /// The oldest packet, due or not; null: there is none. Valid until take(). It may be damaged.
  Record* front() {
    // seq_cst, as in LoopSender::reserve().
    if (taken_ == written_) written_ = shared_->written.load(std::memory_order_seq_cst);
    if (taken_ == written_) return nullptr;
    Record* const record = shared_->at(taken_, capacity_);
    if (record->kind != RecordKind::kSkip || left() >= written_ - taken_) return record;
    taken_ += left();
    return shared_->at(taken_, capacity_);  // which was published with the skip
  }

  /// Whether `record`, which front() gave, is a packet that the sender can have written, of `kind` and
  /// `bytes`.
  bool is_sound(RecordKind kind, std::uint32_t bytes) const {
    const std::uint64_t there = written_ - taken_;
    const std::uint64_t bytes_max = kind == RecordKind::kSmall ? kPutBytesMax : capacity_ / 4;
    return there <= capacity_ && (kind == RecordKind::kSmall || kind == RecordKind::kPacket) &&
           bytes <= bytes_max && span_of(kind, bytes) <= std::min(there, left());
  }

  /// The packet in `record`, which front() gave.
  Packet packet(int source, Record* record) const {
    const RecordKind kind = record->kind;
    const std::uint32_t bytes = record->bytes;
    const bool small = kind == RecordKind::kSmall;
    if (!is_sound(kind, bytes)) return damaged_packet(source, "a packet that cannot be one");
    return {.source = source,
            .bulk_bytes = small ? 0 : bytes,
            .data_bytes = small ? bytes : 0,
            .head = record->head(),
            .bulk = small || bytes == 0 ? nullptr : record->bulk()};
  }

  /// A sender gone wild must not make this rank read outside the ring.
  std::uint32_t bytes_of(const Record& record) const {
    const bool small = record.kind == RecordKind::kSmall;
    const std::uint64_t before = sizeof(Record) + (small ? sizeof(HeadWords) : kLoopLineBytes);
    const std::uint64_t room = left() - std::min(left(), before);
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(record.bytes, small ? std::min<std::uint64_t>(kPutBytesMax, room) : room));
  }

  /// Gives the room of the front packet back. Returns whether the sender can see that, and is to be woken.
  bool take(const Record& record) {
    taken_ += std::min(left(), span_of(record.kind, bytes_of(record)));
    if (taken_ - reported_ < capacity_ / 4) return false;
    reported_ = taken_;
    shared_->taken.store(taken_, std::memory_order_seq_cst);
    return true;
  }

 private:
  /// To the end of the ring.
  std::uint64_t left() const { return capacity_ - (taken_ & (capacity_ - 1)); }

  LoopRingShared* shared_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t written_ = 0;  // last seen
  std::uint64_t taken_ = 0;
  std::uint64_t reported_ = 0;
};

}  // namespace tasuki::loop

// RangeTable: which process holds or waits for which range of something (a file), where processes share a
// piece of memory. The memory serves many such things, each with a key; a RangeTable is one member's view of
// one of them. Nothing in here waits for another member to let go of a range: io/shared/range_locks.hpp does.
//
// Members are numbered 0, 1, ...; each has kRangeSlots slots, which it alone writes. A *shared* range takes
// two steps and no lock: write the slot, then see that no member has or wants an exclusive range of such a
// key. All else goes in the order of tickets: a request waits for those with conflicting ranges that hold
// them or came before it. Keys fall into kRangeBuckets buckets; two that share one only cost each other time.
//
// The memory is all zeros at first. What others wrote there is not trusted: nothing is addressed by it.
//
// Ownership: the caller owns the memory, which outlives the table. Thread safety: the tables of one member
// may be used by one thread at a time, the memory by all members at once.
//
// Invariants:
//  1. (A shared request's slot, then its look at `exclusives`) and (an exclusive one's count there, then its
//     looks at slots) are sequentially consistent: one of the two sees the other.
//  2. Likewise (the release of a slot, then the look at `waiting`) and (the count there, then looks at
//     slots).
//  3. Tickets are taken, slots of the queue written and requests admitted behind the bucket's gate alone.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/system/shared_lock.hpp"
#include "base/types.hpp"

namespace tasuki {

inline constexpr std::size_t kRangeBuckets = 16;
inline constexpr std::size_t kRangeSlots = 8;  // ranges that one member holds or waits for at a time

class RangeTable {
 public:
  static constexpr std::size_t bytes_needed(int members) {
    return kRangeBuckets * sizeof(Bucket) + static_cast<std::size_t>(members) * kRangeSlots * sizeof(Slot);
  }

  /// `memory`: bytes_needed(members) of it, aligned to 64. `user`: this member, among those that share it.
  /// REQUIRES: key != 0.
  RangeTable(std::byte* memory, int members, int self, std::uint64_t key, const LockUser& user);

  static constexpr int kNone = -1;

  /// Holds [begin, end) shared if no member has or wants an exclusive range in the key's bucket: returns the
  /// slot, or kNone; then wake those that next_waiting() gives, which may have seen the attempt.
  /// REQUIRES: begin < end, here and below.
  int hold_shared(Offset begin, Offset end) {
    const int slot = free_slot();
    if (slot == kNone) return kNone;
    Slot& mine = own_[slot];
    mine.begin.store(begin, std::memory_order_release);  // as what follows: see Slot
    mine.end.store(end, std::memory_order_release);
    mine.state.store(kHoldsShared, std::memory_order_release);
    mine.key.store(key_, std::memory_order_seq_cst);
    if (bucket_.exclusives.load(std::memory_order_seq_cst) == 0) [[likely]]
      return slot;
    release(slot);
    return kNone;
  }

  /// Queues for the range: returns the slot, or kNone when this member has none left.
  int queue(Offset begin, Offset end, bool exclusive);
  /// Whether the request in `slot`, which queued, holds its range now. Cheap while no range is released.
  bool admit(int slot);

  /// Lets go of a range; then wake those that next_waiting() gives.
  void release(int slot) {
    Slot& mine = own_[slot];
    const bool exclusive = (mine.state.load(std::memory_order_relaxed) & kExclusive) != 0;
    mine.key.store(0, std::memory_order_seq_cst);
    if (exclusive) bucket_.exclusives.fetch_sub(1, std::memory_order_seq_cst);
  }

  /// After a release: whether members wait in the bucket. They look again.
  bool notify() {
    if (bucket_.waiting.load(std::memory_order_seq_cst) == 0) [[likely]]
      return false;
    bucket_.releases.fetch_add(1, std::memory_order_seq_cst);
    return true;
  }
  /// The first member from `member` on that waits for a range of this key, or kNone.
  int next_waiting(int member) const;

  /// A member that others may wait for in vain, because its words cannot be right; or kNone.
  int damaged() const;

 private:
  // What a slot stands for.
  static constexpr std::uint32_t kHoldsShared = 1;
  static constexpr std::uint32_t kWaits = 2;
  static constexpr std::uint32_t kExclusive = 4;  // with one of the others
  static constexpr std::uint32_t kHoldsExclusive = kHoldsShared | kExclusive;
  static constexpr std::uint32_t kStates = kHoldsShared | kWaits | kExclusive;

  // A slot that is used again is written where another member may still read what it stood for before. Each
  // store is a release and each load of others' an acquire, so that a member which sees something of the new
  // range sees that the one before was let go of, and what its holder did; x86 orders them so by itself.
  struct alignas(64) Slot {             // writer: its member
    std::atomic<std::uint64_t> key;     // 0: free; written last and taken away first, seq_cst
    std::atomic<Offset> begin;          //
    std::atomic<Offset> end;            //
    std::atomic<std::uint64_t> ticket;  // of one that queued
    std::atomic<std::uint32_t> state;   //
    std::atomic<std::uint32_t> used;    // in a member's first slot: how many of its slots were ever used
  };
  static_assert(sizeof(Slot) == 64);

  struct Bucket {                                       // writers: all members
    alignas(64) std::atomic<std::uint32_t> exclusives;  // exclusive ranges that are held or waited for
    std::atomic<std::uint32_t> waiting;                 // requests
    std::atomic<std::uint32_t> releases;                // while a member waited
    alignas(64) SharedLock gate;
    std::atomic<std::uint64_t> tickets;  // writer: the member behind the gate
  };

  int free_slot() {
    if (own_[0].key.load(std::memory_order_relaxed) == 0 && own_[0].used.load(std::memory_order_relaxed) != 0)
        [[likely]]
      return 0;
    return another_slot();
  }
  int another_slot();
  bool meets_conflict(const Slot& mine) const;
  static bool conflict(const Slot& mine, std::uint32_t state, const Slot& other);
  const Slot* slots_of(int member) const { return slots_ + static_cast<std::size_t>(member) * kRangeSlots; }
  std::size_t used_by(int member) const;

  const LockUser& user_;
  const std::uint64_t key_;
  const int members_;
  const int self_;
  Bucket& bucket_;
  Slot* const slots_;  // kRangeSlots for each member
  Slot* const own_;
  struct Look {
    std::uint32_t releases = 0;  // as they were before it
    std::uint32_t idle = 0;      // times since that admit() found nothing to look at
  };
  std::array<Look, kRangeSlots> looks_{};  // of the requests that wait
};

}  // namespace tasuki

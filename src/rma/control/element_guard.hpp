// ElementGuard: what keeps accumulates at one rank's part of a window atomic for each element (MPI 12.7.1),
// where several ranks combine elements in memory that they share.
//
// Elements are of two kinds, by their basic type and address alone. A word has 1, 2, 4 or 8 bytes and an
// address that is a multiple of its size; all else (16 bytes, pairs with padding, odd addresses) is no word.
// An element that is no word is combined under a lock: a pair with padding under that of the pairs, any other
// under that of the block of memory in which it begins. For words a part has, at one time, one of two ways:
//
//   kInstructions  each word is combined by an atomic instruction of the processor. A rank waits for no other
//                  rank and writes no line but the element's: the best way for few words, above all contended
//                  ones.
//   kLocks         each word is combined under the lock of its block, with plain instructions. Many words
//                  take one vector loop per block; a single one costs one atomic instruction, as in the other
//                  way.
//
// A part begins with kInstructions. The first rank that has many words to combine changes it to kLocks, where
// it stays. During the change (kChanging) the others wait, so no word is ever combined in two ways at once.
//
// The change. A rank that combines by instructions first stores 1 to its mark, then loads the way. No
// instruction orders the two, for that would cost as much as the combination. The rank that changes the way
// does it instead: it stores kChanging, then has the kernel run a full barrier on every processor that runs a
// thread of these processes (membarrier), then waits until no mark is set. A rank whose load came before its
// barrier has its mark seen, and is waited for; one whose load comes behind it sees kChanging. Where a rank's
// system cannot do that, the parts begin with kLocks.
//
// A rank waits for others only while these are amid a few instructions: each such wait is one for the holder
// of a SharedLock, whose policy ends the job where that has died.
//
// Ownership: PartGuard and OriginMark lie in the window's control memory; ElementGuard is a view, valid as
// long as the window. Thread safety: the shared fields are atomic, each names its writer.
//
// Invariants:
//  1. A rank holds one lock at most, and while it holds one or its mark is set it waits for no other rank
//     but a lock's holder. The rank that changes the way, which holds PartGuard::change, waits for marks too;
//     no rank waits for it while its mark is set or it holds another lock.
//  2. While the way is kLocks no rank combines words by instructions; before, none does it under locks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/system/shared_lock.hpp"
#include "base/types.hpp"

namespace tasuki::rma {

/// How words of a part are combined.
enum class WordWay : std::uint32_t { kInstructions = 0, kChanging = 1, kLocks = 2 };

/// Of one rank as a target; all zero at first.
struct PartGuard {
  static constexpr std::size_t kBlockLocks = 16;  // a power of two; the blocks of memory take turns
  struct alignas(64) Lock {
    SharedLock lock;
  };

  alignas(
      64) std::atomic<WordWay> way;  // writer: the rank that changes it; kChanging while that holds `change`
  SharedLock change;
  Lock pairs;
  Lock blocks[kBlockLocks];
};

/// Of one rank as an origin.
struct alignas(64) OriginMark {
  SharedLock inside;  // taken by that rank alone, while it combines words by instructions
};

/// What all ranks of a window agree on when it is made.
struct GuardRules {
  WordWay first = WordWay::kInstructions;  // of every part
  unsigned block_bits = 14;                // a block has 2^block_bits bytes
  Count many_words = 4;                    // so many at once change the way to kLocks

  friend bool operator==(const GuardRules&, const GuardRules&) = default;
};

/// The rules for the hint mpi_accumulate_granularity, in bytes: 0: none. `can_change`: all ranks can do what
/// a change of the way takes.
GuardRules guard_rules(Count granularity, bool can_change);

class ElementGuard {
 public:
  /// For a rank that knows that no other one combines elements there at this time.
  ElementGuard() = default;
  /// `marks`: of all `ranks` of the window; `own`: that of this rank. `base`: where the part's blocks begin.
  ElementGuard(PartGuard& part, OriginMark* marks, int own, int ranks, const std::byte* base,
               const GuardRules& rules, const LockUser& user)
      : part_(&part),
        user_(&user),
        own_(marks + own),
        marks_(marks),
        ranks_(ranks),
        block_bits_(rules.block_bits),
        many_words_(rules.many_words),
        base_(reinterpret_cast<std::uintptr_t>(base)) {}

  bool is_alone() const { return part_ == nullptr; }
  /// So many words at once call for demand_locks().
  Count many_words() const { return many_words_; }

  /// Begins to combine words by instructions. Returns false where the way is another one: then they are
  /// combined under the locks of their blocks. REQUIRES: !is_alone().
  bool enter() const {
    if (part_->way.load(std::memory_order_acquire) == WordWay::kLocks) return false;
    own_->inside.hold(*user_);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the change orders the processors
    if (part_->way.load(std::memory_order_acquire) == WordWay::kInstructions) [[likely]]
      return true;
    own_->inside.unlock();
    return enter_after_change(*part_, *own_, *user_);
  }
  void leave() const { own_->inside.unlock(); }

  /// Changes the way to kLocks, if it is not and the system does its part. REQUIRES: !is_alone(), and this
  /// rank has not entered.
  void demand_locks() const {
    if (part_->way.load(std::memory_order_acquire) != WordWay::kLocks) change_to_locks();
  }

  /// Whether several threads of this rank may combine words there at once: the way is kLocks. A rank has one
  /// mark for all of its threads, which call one at a time otherwise.
  bool admits_threads() const {
    return part_ != nullptr && part_->way.load(std::memory_order_acquire) == WordWay::kLocks;
  }

  /// The lock of the block in which the element at `place` begins, and how many bytes from there on are in
  /// the block.
  struct Block {
    SharedLock& lock;
    Count bytes;
  };
  Block block_of(const std::byte* place) const {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(place) - base_;
    const std::uintptr_t bytes = std::uintptr_t{1} << block_bits_;
    return {part_->blocks[(offset >> block_bits_) % PartGuard::kBlockLocks].lock,
            static_cast<Count>(bytes - offset % bytes)};
  }
  SharedLock& pairs() const { return part_->pairs.lock; }
  /// This rank, as the user of those locks.
  const LockUser& user() const { return *user_; }

 private:
  // Static: no view has to lie in memory.
  static bool enter_after_change(PartGuard& part, OriginMark& own, const LockUser& user);
  void change_to_locks() const;

  PartGuard* part_ = nullptr;
  const LockUser* user_ = nullptr;
  OriginMark* own_ = nullptr;
  OriginMark* marks_ = nullptr;
  int ranks_ = 0;
  unsigned block_bits_ = 0;
  Count many_words_ = 0;
  std::uintptr_t base_ = 0;
};

/// Whether other processes can have this one run a full barrier, as a change of the way demands. Asks the
/// system for it.
bool allow_barriers_of_others();

}  // namespace tasuki::rma

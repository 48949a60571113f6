// Locks on ranges of bytes of a file, among all ranks of the job that have it open, by whichever
// MPI_File_open: found by the file's identity, in memory that all of them map. No locks of the system are
// used.
//
// Who writes back bytes that it has read (data sieving, collective buffers with holes) holds its range
// *exclusively*; everybody else who writes holds theirs *shared*. In atomic mode accesses hold what they
// touch: writers exclusively, readers shared.
//
// Requests for ranges that conflict are served in the order in which they came. A rank that waits for a range
// makes progress, so a holder may wait for what others send, as long as they need no range for it that
// conflicts with the holder's. While it waits, another thread of the rank may run; a rank holds kRangeSlots
// ranges at most (memory/range_table.hpp), for so many threads, and further ones wait for one of those.
//
// A shared range that nobody wants for himself costs two atomic stores: some 20 ns.
//
// Thread safety: the process lock; the memory is used by all ranks at once.
#pragma once

#include <cstdint>

#include "base/process.hpp"
#include "base/types.hpp"
#include "io/shared/shared_state.hpp"
#include "io/view/ranges.hpp"
#include "memory/range_table.hpp"
#include "object/comm.hpp"

namespace tasuki {

enum class RangeUse : std::uint8_t { kShared, kExclusive };

/// The locks of one file, as one rank uses them.
class RangeLocks {
 public:
  /// `identity`: the same number for all who have the file open, 0 for none. Where not all of `comm` are of
  /// one job, or the job shares nothing, the locks are those of this MPI_File_open alone: they lie in
  /// `state`.
  RangeLocks(Comm& comm, SharedState& state, std::uint64_t identity);

  /// Returns what to say to unlock(). Nothing is locked for an empty range.
  int lock(const FileRange& range, RangeUse use) {
    if (range.begin >= range.end) return kNothing;
    if (use == RangeUse::kShared) {
      const int slot = table_.hold_shared(range.begin, range.end);
      if (slot != RangeTable::kNone) [[likely]]
        return slot;
    }
    return lock_in_turn(range, use);
  }
  void unlock(int lock) {
    if (lock == kNothing) return;
    table_.release(lock);
    if (table_.notify()) wake_those_that_wait();
  }

  /// Whether exclusive ranges keep all other ranks of the job out. Where not, who would write back what it
  /// has read writes piece by piece instead.
  bool are_shared_by_all() const { return shared_by_all_; }

 private:
  static constexpr int kNothing = -1;

  int lock_in_turn(const FileRange& range, RangeUse use);
  void wake_those_that_wait();
  void look_for_damage();

  Process& process_;
  Comm& comm_;
  bool shared_by_all_;
  RangeTable table_;
};

/// Holds a range for a scope. `locks` may be null: nothing is held.
class RangeLock {
 public:
  RangeLock(RangeLocks* locks, const FileRange& range, RangeUse use) : locks_(locks) {
    if (locks_ != nullptr) lock_ = locks_->lock(range, use);
  }
  ~RangeLock() {
    if (locks_ != nullptr) locks_->unlock(lock_);
  }
  RangeLock(const RangeLock&) = delete;
  RangeLock& operator=(const RangeLock&) = delete;

 private:
  RangeLocks* locks_;
  int lock_ = 0;
};

}  // namespace tasuki

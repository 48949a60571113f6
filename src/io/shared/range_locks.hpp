// Locks on ranges of bytes of a file, among all ranks of the job that have it open, by whichever
// MPI_File_open. No locks of the system are used.
//
// A rank that writes back bytes that it has read (data sieving, collective buffers with holes) holds its
// range *exclusively*; every other rank that writes holds its own range *shared*. In atomic mode accesses
// hold what they touch: writers exclusively, readers shared.
//
// Requests for ranges that conflict are served in the order in which they came. A rank that waits for a range
// makes progress, so a holder may wait for what others send, as long as they need no range for it that
// conflicts with the holder's. While it waits, another thread of the rank may run.
//
// Forms:
//   MappedRangeLocks  a table in memory that all ranks map (mapped_range_locks.hpp)
//   ServedRangeLocks  an owner keeps them and is asked by messages (served_range_locks.hpp)
//   JobRangeLocks     over several nodes: served by a rank of the job between MPI_Init and MPI_Finalize, else
//                     those of this MPI_File_open alone (served_range_locks.hpp)
//
// Thread safety: the process lock.
#pragma once

#include <cstdint>
#include <memory>

#include "base/types.hpp"
#include "io/shared/shared_state.hpp"
#include "io/view/ranges.hpp"
#include "object/comm.hpp"

namespace tasuki {

class OwnerService;

enum class RangeUse : std::uint8_t { kShared, kExclusive };

/// The locks of one file, as one rank uses them.
class RangeLocks {
 public:
  using Held = std::uint64_t;  // names a range that is held
  static constexpr Held kNothing = 0;

  virtual ~RangeLocks() = default;

  /// Returns once this rank holds the range. REQUIRES: it is not empty, and begins at 0 or later.
  virtual Held lock(const FileRange& range, RangeUse use) = 0;

  /// The same without waiting, for one that asks again and again until it holds the range: kNothing until
  /// then. `*place`, 0 at first, is its place among those that wait. Once it has asked it goes on until it
  /// holds the range.
  virtual Held try_lock(const FileRange& range, RangeUse use, std::uint64_t* place) = 0;
  virtual void unlock(Held held) = 0;

  /// Whether exclusive ranges keep all other ranks of the job out. Where not, a rank that would write back
  /// what it has read writes piece by piece instead.
  virtual bool are_shared_by_all() const = 0;
};

/// The locks of the file `identity`, which is the same number for all ranks that have the file open, 0 for
/// none. `state` is what the ranks of `comm` share of it, `job_locks` where this process keeps the job's
/// owners of locks (Files::job_locks); both outlive the locks.
std::unique_ptr<RangeLocks> make_range_locks(Comm& comm, std::uint64_t identity, SharedState& state,
                                             const std::unique_ptr<OwnerService>& job_locks);

/// Holds a range for a scope: nothing where it is empty or `locks` is null.
class RangeLock {
 public:
  RangeLock() = default;
  RangeLock(RangeLocks* locks, const FileRange& range, RangeUse use) { take(locks, range, use); }
  ~RangeLock() { let_go(); }
  RangeLock(const RangeLock&) = delete;
  RangeLock& operator=(const RangeLock&) = delete;

  /// Returns once it holds the range. REQUIRES, here and below: it holds none.
  void take(RangeLocks* locks, const FileRange& range, RangeUse use) {
    locks_ = locks;
    if (locks_ != nullptr && range.begin < range.end) held_ = locks_->lock(range, use);
  }
  /// Whether it holds the range now; if not, is to be called again with the same.
  bool try_take(RangeLocks* locks, const FileRange& range, RangeUse use) {
    locks_ = locks;
    if (locks_ == nullptr || range.begin >= range.end) return true;
    held_ = locks_->try_lock(range, use, &place_);
    return held_ != RangeLocks::kNothing;
  }
  void let_go() {
    if (held_ != RangeLocks::kNothing) locks_->unlock(held_);
    held_ = RangeLocks::kNothing;
    place_ = 0;
  }

 private:
  RangeLocks* locks_ = nullptr;
  RangeLocks::Held held_ = RangeLocks::kNothing;
  std::uint64_t place_ = 0;
};

}  // namespace tasuki

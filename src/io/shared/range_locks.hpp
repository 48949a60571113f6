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
  RangeLock(RangeLocks* locks, const FileRange& range, RangeUse use) : locks_(locks) {
    if (locks_ != nullptr && range.begin < range.end) held_ = locks_->lock(range, use);
  }
  ~RangeLock() {
    if (held_ != RangeLocks::kNothing) locks_->unlock(held_);
  }
  RangeLock(const RangeLock&) = delete;
  RangeLock& operator=(const RangeLock&) = delete;

 private:
  RangeLocks* locks_;
  RangeLocks::Held held_ = RangeLocks::kNothing;
};

}  // namespace tasuki

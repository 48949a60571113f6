// Conflicts: which accesses to a window are under way, so that two that conflict are distinguished from two
// that may meet (MPI 12.7): for TASUKI_CHECK=3 alone.
//
// Each rank has a table in the window's segment (a window over several nodes has none, and is not checked) of
// the accesses to its part that no synchronization has completed yet. A rank that begins an access looks for
// one that conflicts, of its own or of another origin, then enters its own. What conflicts is undefined by
// MPI whenever it happens to be carried out; so an error here is a mistake in the program, also where the
// result would have been right. What is reported is what meets at run time: a program may have conflicts that
// do not meet this time. Not seen at all are loads and stores, accesses of more than kRunsMax runs of bytes,
// and accesses while a table is full.
//
// An access is taken out by its origin in flush, unlock and fence, or by its target in MPI_Win_wait. Gets
// with a request are looked for but not entered: only their request knows when they are over.
//
// Ownership: a table is written by any rank under its lock. What is read from it is checked like all that
// other ranks write. Thread safety: the tables have their locks; the object is guarded by the process lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/calls/function.hpp"
#include "base/process.hpp"
#include "base/system/shared_lock.hpp"
#include "base/types.hpp"
#include "rma/access/buffers.hpp"

namespace tasuki::rma {

enum class AccessKind : std::uint8_t { kGet, kPut, kAccumulate, kCompareAndSwap };

/// A run of bytes of a target that an access touches.
struct OpenAccess {
  Count begin = 0;  // in the target's part; of a dynamic window: addresses
  Count end = 0;
  std::uint64_t origin_address = 0;  // of its data at the origin, where they are dense; 0: they are not
  std::uint64_t data = 0;            // of a put: a hash of them; 0: unknown
  std::int32_t origin = 0;           // rank in the window
  AccessKind kind = AccessKind::kGet;
  std::uint8_t element_bytes = 0;       // of an accumulate
  std::uint16_t op = 0;                 // the same: a predefined number
  Function function = Function::kNone;  // the call
};

/// Whether two accesses may not meet. Two of the same bytes from or to the same place at the origin are one
/// access done twice, which does no harm; nor do two puts of the same data to the same place.
bool is_conflict(const OpenAccess& one, const OpenAccess& other);

class Conflicts {
 public:
  static std::size_t bytes_needed(int ranks);

  /// `memory`: bytes_needed() bytes that all ranks map, zero at first. `user`: this rank, among those.
  Conflicts(std::byte* memory, int rank, int ranks, const LockUser& user)
      : tables_(memory), rank_(rank), ranks_(ranks), user_(user) {}

  /// An access begins: `what` with its origin, kind, operation and element. `enters`: it stays until it is
  /// forgotten. kErrRmaConflict where it meets another one.
  Code begin(Process& process, OpenAccess what, const TargetBuffer& remote, const OriginBuffer* origin,
             bool enters);

  /// Accesses of this rank that are complete: all of those at `target`, those that only read, all.
  void completed(int target);
  void completed_gets(int target);
  void completed_all();
  void completed_gets_everywhere();
  /// Those of an origin at this rank.
  void origin_completed(int origin);

 private:
  static constexpr std::uint32_t kEntries = 1024;
  static constexpr std::size_t kRunsMax = 256;

  struct Table {
    SharedLock lock;
    std::uint32_t count;
    OpenAccess entries[kEntries];
  };

  Table& table(int target) const;
  void forget(int target, int origin, bool gets_only);
  static void enter(Table& table, std::uint32_t count, const OpenAccess& run);

  std::byte* tables_;
  int rank_;
  int ranks_;
  const LockUser& user_;
};

}  // namespace tasuki::rma

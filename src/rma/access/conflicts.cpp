// The tables of accesses.
#include "rma/access/conflicts.hpp"

#include <algorithm>

#include "base/calls/call_board.hpp"
#include "base/predefined.hpp"
#include "datatype/layout.hpp"

namespace tasuki::rma {
namespace {

constexpr const char* kHint =
    "separate them by a synchronization (MPI_Win_fence; MPI_Win_flush or MPI_Win_unlock, and a message or a "
    "barrier between ranks), or use MPI_Accumulate with one operation";

bool is_atomic(const OpenAccess& access) {
  return access.kind == AccessKind::kAccumulate || access.kind == AccessKind::kCompareAndSwap;
}

bool reads_only(const OpenAccess& access) {
  return access.kind == AccessKind::kGet || (is_atomic(access) && access.op == kMpiNoOp);
}

/// Accumulates may meet with one operation, or MPI_NO_OP, on elements of one type (MPI 12.7.1); and a
/// compare-and-swap with any.
bool may_combine(const OpenAccess& one, const OpenAccess& other) {
  if (one.element_bytes != other.element_bytes) return reads_only(one) && reads_only(other);
  return one.kind != other.kind || one.kind == AccessKind::kCompareAndSwap || one.op == other.op ||
         one.op == kMpiNoOp || other.op == kMpiNoOp;
}

/// One within the other, and both with the same data at the same origin.
bool is_repeated(const OpenAccess& one, const OpenAccess& other) {
  return one.kind == other.kind && one.origin == other.origin && one.origin_address != 0 &&
         other.origin_address != 0 &&
         one.origin_address - static_cast<std::uint64_t>(one.begin) ==
             other.origin_address - static_cast<std::uint64_t>(other.begin);
}

bool puts_the_same(const OpenAccess& one, const OpenAccess& other) {
  return one.kind == AccessKind::kPut && other.kind == AccessKind::kPut && one.begin == other.begin &&
         one.end == other.end && one.data != 0 && one.data == other.data;
}

/// Never 0.
std::uint64_t hash_of(const std::byte* data, Count bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (Count i = 0; i < bytes; ++i) hash = (hash ^ static_cast<std::uint64_t>(data[i])) * 0x100000001b3;
  return hash | 1;
}

/// The runs of bytes of `remote`, each as `what`; none where there are more than `runs_max`.
std::vector<OpenAccess> runs_of(OpenAccess what, const TargetBuffer& remote, const OriginBuffer* origin,
                                std::size_t runs_max) {
  std::vector<OpenAccess> runs;
  const bool is_dense = origin != nullptr && origin->type != nullptr && origin->type->contiguous;
  const PlacedElements elements{static_cast<std::uintptr_t>(remote.offset), remote.count, remote.type->extent,
                                *remote.type->layout};
  const Count bytes = remote.bytes();
  for (Count position = 0; position < bytes;) {
    const Run run = run_at(elements, position);
    what.begin = static_cast<Count>(run.place);
    what.end = what.begin + run.bytes;
    what.origin_address =
        is_dense ? reinterpret_cast<std::uintptr_t>(origin->address) + static_cast<std::uintptr_t>(position)
                 : 0;
    position += run.bytes;
    if (!runs.empty() && runs.back().end == what.begin) {
      runs.back().end = what.end;
    } else if (runs.size() == runs_max) {
      return {};
    } else {
      runs.push_back(what);
    }
  }
  if (what.kind != AccessKind::kPut || !is_dense) return runs;
  for (OpenAccess& run : runs) {
    run.data = hash_of(reinterpret_cast<const std::byte*>(run.origin_address), run.end - run.begin);
  }
  return runs;
}

Code refuse(Process& process, const OpenAccess& mine, const OpenAccess& other, int target) {
  const auto printed = [](Count value) { return static_cast<long long>(value); };
  return process.fail(kErrRmaConflict,
                      "bytes %lld..%lld of rank %d's window are accessed while %s of rank %d accesses bytes "
                      "%lld..%lld, expected no conflicting accesses in one epoch; hint: %s",
                      printed(mine.begin), printed(mine.end - 1), target, function_name(other.function),
                      other.origin, printed(other.begin), printed(other.end - 1), kHint);
}

}  // namespace

bool is_conflict(const OpenAccess& one, const OpenAccess& other) {
  if (one.end <= other.begin || other.end <= one.begin) return false;
  if (one.kind == AccessKind::kGet && other.kind == AccessKind::kGet) return false;
  if (is_atomic(one) && is_atomic(other)) return !may_combine(one, other);
  if (reads_only(one) && reads_only(other)) return false;
  return !is_repeated(one, other) && !puts_the_same(one, other);
}

std::size_t Conflicts::bytes_needed(int ranks) {
  return static_cast<std::size_t>(ranks) * sizeof(Table);
}

Conflicts::Table& Conflicts::table(int target) const {
  return reinterpret_cast<Table*>(tables_)[target];
}

Code Conflicts::begin(Process& process, OpenAccess what, const TargetBuffer& remote,
                      const OriginBuffer* origin, bool enters) {
  what.origin = rank_;
  what.function = present_call(process.line);
  const std::vector<OpenAccess> runs = runs_of(what, remote, origin, kRunsMax);
  Table& at = table(remote.rank);
  const SharedLockGuard held(&at.lock, &user_);
  const std::uint32_t count = std::min(at.count, kEntries);
  for (const OpenAccess& run : runs) {
    const OpenAccess* end = at.entries + count;
    const OpenAccess* met = std::find_if(static_cast<const OpenAccess*>(at.entries), end,
                                         [&run](const OpenAccess& entry) { return is_conflict(run, entry); });
    if (met != end) return refuse(process, run, *met, remote.rank);
  }
  for (const OpenAccess& run : runs) {
    if (enters) enter(at, std::min(at.count, kEntries), run);
  }
  return kSuccess;
}

/// An access that goes on where the last one ended is one with it: loops over elements take one entry.
void Conflicts::enter(Table& table, std::uint32_t count, const OpenAccess& run) {
  if (count > 0) {
    OpenAccess& last = table.entries[count - 1];
    const bool goes_on = last.origin == run.origin && last.kind == run.kind && last.op == run.op &&
                         last.element_bytes == run.element_bytes && last.end == run.begin &&
                         is_repeated(last, run);
    if (goes_on || (is_repeated(last, run) && last.begin <= run.begin && run.end <= last.end)) {
      if (run.end > last.end) last.data = 0;  // which is the hash of a part
      last.end = std::max(last.end, run.end);
      return;
    }
  }
  if (count == kEntries) return;
  table.entries[count] = run;
  table.count = count + 1;
}

void Conflicts::forget(int target, int origin, bool gets_only) {
  Table& at = table(target);
  const SharedLockGuard held(&at.lock, &user_);
  OpenAccess* const end = at.entries + std::min(at.count, kEntries);
  OpenAccess* const kept = std::remove_if(at.entries, end, [&](const OpenAccess& entry) {
    return entry.origin == origin && (!gets_only || entry.kind == AccessKind::kGet);
  });
  at.count = static_cast<std::uint32_t>(kept - at.entries);
}

void Conflicts::completed(int target) {
  forget(target, rank_, false);
}

void Conflicts::completed_gets(int target) {
  forget(target, rank_, true);
}

void Conflicts::completed_all() {
  for (int target = 0; target < ranks_; ++target) forget(target, rank_, false);
}

void Conflicts::completed_gets_everywhere() {
  for (int target = 0; target < ranks_; ++target) forget(target, rank_, true);
}

void Conflicts::origin_completed(int origin) {
  forget(rank_, origin, false);
}

}  // namespace tasuki::rma

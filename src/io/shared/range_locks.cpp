// Range locks: where their table lies, and waiting for one. See range_locks.hpp.
#include "io/shared/range_locks.hpp"

#include <algorithm>

#include "job/bootstrap.hpp"
#include "progress/progress.hpp"

namespace tasuki {
namespace {

/// Waits look at the whole table for damage that often.
constexpr std::uint32_t kLooksPerSearch = 4096;

/// The table that all ranks of the job share, or null where there is none or `comm` has other processes, too.
std::byte* table_of_job(const Comm& comm) {
  Bootstrap& bootstrap = comm.process.bootstrap;
  const auto& endpoints = comm.group->endpoints;
  const bool one_job = std::all_of(endpoints.begin(), endpoints.end(),
                                   [&](int endpoint) { return endpoint < bootstrap.size(); });
  return one_job ? bootstrap.file_locks() : nullptr;
}

RangeTable make_table(std::byte* of_job, const Comm& comm, SharedState& state, std::uint64_t identity) {
  const std::uint64_t key = std::max<std::uint64_t>(identity, 1);
  const Bootstrap& bootstrap = comm.process.bootstrap;
  if (of_job != nullptr) return {of_job, bootstrap.size(), bootstrap.rank(), key};
  return {state.range_locks(), comm.size(), comm.rank, key};
}

}  // namespace

RangeLocks::RangeLocks(Comm& comm, SharedState& state, std::uint64_t identity)
    : process_(comm.process),
      comm_(comm),
      shared_by_all_(table_of_job(comm) != nullptr),
      table_(make_table(table_of_job(comm), comm, state, identity)) {}

int RangeLocks::lock_in_turn(const FileRange& range, RangeUse use) {
  // An attempt at a shared range may have made others wait.
  if (use == RangeUse::kShared && table_.notify()) wake_those_that_wait();
  const bool exclusive = use == RangeUse::kExclusive;
  int slot = table_.queue(range.begin, range.end, exclusive);
  if (slot != RangeTable::kNone && table_.admit(slot)) return slot;
  std::uint32_t looks = 0;
  process_.progress->wait_until([&] {
    if (++looks % kLooksPerSearch == 0) look_for_damage();
    if (slot == RangeTable::kNone) slot = table_.queue(range.begin, range.end, exclusive);
    return slot != RangeTable::kNone && table_.admit(slot);
  });
  return slot;
}

void RangeLocks::wake_those_that_wait() {
  process_.progress->wake();  // threads of this rank
  for (int member = table_.next_waiting(0); member != RangeTable::kNone;
       member = table_.next_waiting(member + 1)) {
    const int endpoint = shared_by_all_ ? member : comm_.endpoint(member);
    if (endpoint != comm_.endpoint(comm_.rank)) process_.progress->wake_peer(endpoint);
  }
}

void RangeLocks::look_for_damage() {
  const int member = table_.damaged();
  if (member == RangeTable::kNone) return;
  process_.bootstrap.end_damaged(shared_by_all_ ? member : comm_.endpoint(member),
                                 "its locks of file ranges are none that it can have written");
}

}  // namespace tasuki

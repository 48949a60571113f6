// Waiting for a range in a table that all ranks map: see mapped_range_locks.hpp.
#include "io/shared/mapped_range_locks.hpp"

#include <utility>
#include <vector>

#include "base/calls/rank_wait.hpp"
#include "job/directory.hpp"
#include "job/launcher.hpp"
#include "node/node.hpp"
#include "progress/progress.hpp"

namespace tasuki {
namespace {

/// Waits look at the whole table for damage that often.
constexpr std::uint32_t kLooksPerSearch = 4096;

}  // namespace

MappedRangeLocks::MappedRangeLocks(Process& process, std::byte* table_of_job, std::uint64_t identity)
    : process_(process),
      comm_(nullptr),
      table_(table_of_job, process.directory.size(), process.directory.rank(), identity,
             process.node.lock_user()) {}

MappedRangeLocks::MappedRangeLocks(Comm& comm, std::byte* table_of_file, std::uint64_t identity)
    : process_(comm.process),
      comm_(&comm),
      table_(table_of_file, comm.size(), comm.rank, identity, comm.process.node.lock_user()) {}

int MappedRangeLocks::lock_in_turn(const FileRange& range, RangeUse use) {
  // An attempt at a shared range may have made others wait.
  if (use == RangeUse::kShared && table_.notify()) wake_those_that_wait();
  const bool exclusive = use == RangeUse::kExclusive;
  int slot = table_.queue(range.begin, range.end, exclusive);
  if (slot != RangeTable::kNone && table_.admit(slot)) return slot;
  std::vector<int> members;
  const int size = comm_ == nullptr ? process_.size : comm_->size();
  for (int member = 0; member < size; ++member) members.push_back(endpoint_of(member));
  const RankWait wait(process_, std::move(members));
  std::uint32_t looks = 0;
  process_.progress->wait_until([&] {
    if (++looks % kLooksPerSearch == 0) look_for_damage();
    if (slot == RangeTable::kNone) slot = table_.queue(range.begin, range.end, exclusive);
    return slot != RangeTable::kNone && table_.admit(slot);
  });
  return slot;
}

/// A place is a slot, plus 1.
RangeLocks::Held MappedRangeLocks::try_lock(const FileRange& range, RangeUse use, std::uint64_t* place) {
  const bool exclusive = use == RangeUse::kExclusive;
  if (*place == 0 && !exclusive) {
    const int slot = table_.hold_shared(range.begin, range.end);
    if (slot != RangeTable::kNone) return held_by(slot);
    if (table_.notify()) wake_those_that_wait();
  }
  if (*place == 0) {
    const int slot = table_.queue(range.begin, range.end, exclusive);
    if (slot == RangeTable::kNone) return kNothing;
    *place = held_by(slot);
  }
  return table_.admit(static_cast<int>(*place - 1)) ? *place : kNothing;
}

void MappedRangeLocks::wake_those_that_wait() {
  process_.progress->wake();  // threads of this rank
  for (int member = table_.next_waiting(0); member != RangeTable::kNone;
       member = table_.next_waiting(member + 1)) {
    if (endpoint_of(member) != process_.rank) process_.progress->wake_peer(endpoint_of(member));
  }
}

void MappedRangeLocks::look_for_damage() {
  const int member = table_.damaged();
  if (member == RangeTable::kNone) return;
  process_.launcher.end_damaged(endpoint_of(member),
                                "its locks of file ranges are none that it can have written");
}

}  // namespace tasuki

// MappedRangeLocks: range locks in a table that all ranks map (memory/range_table.hpp): the job's, or that of
// one MPI_File_open.
//
// A shared range that no other rank wants exclusively costs two atomic stores: some 20 ns. A rank holds
// kRangeSlots ranges at most, for so many threads, and further ones wait for one of those.
//
// Thread safety: the process lock; the memory is used by all ranks at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/process.hpp"
#include "io/shared/range_locks.hpp"
#include "memory/range_table.hpp"

namespace tasuki {

class MappedRangeLocks final : public RangeLocks {
 public:
  /// In the job's table. REQUIRES, here and below: identity != 0.
  MappedRangeLocks(Process& process, std::byte* table_of_job, std::uint64_t identity);
  /// In the table of the file that `comm` belongs to.
  MappedRangeLocks(Comm& comm, std::byte* table_of_file, std::uint64_t identity);

  Held lock(const FileRange& range, RangeUse use) override {
    if (use == RangeUse::kShared) {
      const int slot = table_.hold_shared(range.begin, range.end);
      if (slot != RangeTable::kNone) [[likely]]
        return held_by(slot);
    }
    return held_by(lock_in_turn(range, use));
  }
  Held try_lock(const FileRange& range, RangeUse use, std::uint64_t* place) override;
  void unlock(Held held) override {
    table_.release(static_cast<int>(held - 1));
    if (table_.notify()) wake_those_that_wait();
  }
  bool are_shared_by_all() const override { return comm_ == nullptr; }

 private:
  static Held held_by(int slot) { return static_cast<Held>(slot) + 1; }
  int lock_in_turn(const FileRange& range, RangeUse use);
  void wake_those_that_wait();
  void look_for_damage();
  int endpoint_of(int member) const { return comm_ == nullptr ? member : comm_->endpoint(member); }

  Process& process_;
  Comm* comm_;  // whose ranks are the table's members; null: those of the job
  RangeTable table_;
};

}  // namespace tasuki

// SharedState: what the ranks that opened a file together share: its shared file pointer, and room for locks
// on its ranges where the job has none for all files (io/shared/range_locks.hpp). It lies in memory that all
// of them map, so no rank needs another one's attention to use it.
//
// Thread safety: the block may be used by all ranks at once; a SharedState by its own rank.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/types.hpp"
#include "memory/range_table.hpp"
#include "memory/shared_segment.hpp"

namespace tasuki {

class SharedState {
 public:
  /// Makes the block for a file of `ranks` ranks; for one alone in its own memory. Returns null and one line
  /// in `error` when there is no memory.
  static std::unique_ptr<SharedState> create(int ranks, std::string* error);
  static std::unique_ptr<SharedState> open(const SegmentAddress& address, int ranks, std::string* error);

  SegmentAddress address() const { return segment_ != nullptr ? segment_->address() : SegmentAddress{}; }
  /// All others have opened it.
  void stop_sharing() {
    if (segment_ != nullptr) segment_->stop_sharing();
  }

  /// The shared file pointer, in etypes of the current view.
  Offset position() const { return block_->position.load(std::memory_order_acquire); }
  void set_position(Offset etypes) { block_->position.store(etypes, std::memory_order_release); }
  /// Moves it on and returns where it was.
  Offset advance(Offset etypes) { return block_->position.fetch_add(etypes, std::memory_order_acq_rel); }

  /// Ranks that write much at this moment.
  std::uint32_t writers() const { return block_->writers.load(std::memory_order_relaxed); }
  void begin_writing() { block_->writers.fetch_add(1, std::memory_order_relaxed); }
  void end_writing() { block_->writers.fetch_sub(1, std::memory_order_relaxed); }

  /// A RangeTable's memory for all ranks of the file.
  std::byte* range_locks() const { return reinterpret_cast<std::byte*>(block_ + 1); }

 private:
  struct Block {  // a RangeTable's memory follows
    alignas(64) std::atomic<Offset> position{0};
    alignas(64) std::atomic<std::uint32_t> writers{0};
  };
  static_assert(std::atomic<Offset>::is_always_lock_free);
  struct OwnBlock {
    Block block;
    alignas(64) std::array<std::byte, RangeTable::bytes_needed(1)> range_locks{};
  };
  static constexpr std::size_t bytes_needed(int ranks) {
    return sizeof(Block) + RangeTable::bytes_needed(ranks);
  }

  SharedState(std::unique_ptr<SharedSegment> segment, std::unique_ptr<OwnBlock> own);

  std::unique_ptr<SharedSegment> segment_;  // null: the block is own_
  std::unique_ptr<OwnBlock> own_;
  Block* block_;
};

}  // namespace tasuki

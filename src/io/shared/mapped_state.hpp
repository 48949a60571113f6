// MappedState: a file's shared state in a block of memory that all of its ranks map. No rank needs another
// one's attention to use it. The block has room for locks on ranges of the file, too (range_locks.hpp).
//
// The block lies in rank 0's symmetric heap, where all ranks reach that: opening a file then makes no
// mapping. Else it is a segment of its own; of a file of one rank, memory of that rank.
//
// Ownership: rank 0's MappedState owns the block. Thread safety: the block may be used by all ranks at once;
// a MappedState by its own rank.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/types.hpp"
#include "io/shared/shared_state.hpp"
#include "memory/range_table.hpp"
#include "memory/shared_segment.hpp"
#include "memory/symmetric_heap.hpp"
#include "object/comm.hpp"

namespace tasuki {

/// Where a file's block is, as it travels in messages.
struct BlockAddress {
  SymmetricAddress in_heap = 0;  // in rank 0's symmetric heap; 0: in the segment
  SegmentAddress segment;
};

class MappedState final : public SharedState {
 public:
  /// At rank 0: makes the block for the ranks of `comm`, the file's. `heaps_are_reached`: each of them
  /// addresses the symmetric heaps of the others. Returns null and one line in `error` when there is no
  /// memory. The block lives as long as what is made here: all others are gone before.
  static std::unique_ptr<MappedState> create(Comm& comm, bool heaps_are_reached, std::string* error);
  /// At the others.
  static std::unique_ptr<MappedState> open(const BlockAddress& address, Comm& comm, std::string* error);
  ~MappedState() override;

  BlockAddress address() const;

  Offset position() override { return block_->position.load(std::memory_order_acquire); }
  void set_position(Offset etypes) override { block_->position.store(etypes, std::memory_order_release); }
  Offset advance(Offset etypes) override {
    return block_->position.fetch_add(etypes, std::memory_order_acq_rel);
  }
  bool try_advance(Offset etypes, std::uint64_t* /*ticket*/, Offset* before) override {
    *before = advance(etypes);
    return true;
  }

  void begin_writing() override { block_->writers.fetch_add(1, std::memory_order_relaxed); }
  void end_writing() override { block_->writers.fetch_sub(1, std::memory_order_relaxed); }
  bool others_write() const override { return block_->writers.load(std::memory_order_relaxed) > 1; }

  std::unique_ptr<RangeLocks> make_locks(std::uint64_t identity) override;
  void stop_sharing() override {
    if (segment_ != nullptr) segment_->stop_sharing();
  }

 private:
  struct Block {  // a RangeTable's memory follows
    alignas(64) std::atomic<Offset> position{0};
    alignas(64) std::atomic<std::uint32_t> writers{0};  // ranks that write much at this moment
  };
  static_assert(std::atomic<Offset>::is_always_lock_free);
  struct OwnBlock {
    Block block;
    alignas(64) std::array<std::byte, RangeTable::bytes_needed(1)> range_locks{};
  };
  static constexpr std::size_t bytes_needed(int ranks) {
    return sizeof(Block) + RangeTable::bytes_needed(ranks);
  }

  MappedState(Comm& comm, void* block);
  static void* make_in_heap(Comm& comm);

  Comm& comm_;
  Block* block_;
  void* in_own_heap_ = nullptr;             // the block, where this rank had it of its symmetric heap
  std::unique_ptr<SharedSegment> segment_;  // that the block lies in, or null
  std::unique_ptr<OwnBlock> own_;           // of a file of one rank
};

}  // namespace tasuki

// SharedState: what the ranks that opened a file together share: its shared file pointer, and the lock of the
// atomic mode. It lies in memory that all of them map, so no rank needs another one's attention to use it.
//
// Thread safety: the block may be used by all ranks at once; a SharedState by its own rank.
//
// The lock blocks in the kernel and makes no progress meanwhile: who holds it moves bytes of a file and waits
// for nobody, so it comes free without this rank's help.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/types.hpp"
#include "memory/shared_segment.hpp"

namespace tasuki {

class SharedState {
 public:
  /// Makes the block; for a file of one rank (`alone`) in its own memory. Returns null and one line in
  /// `error` when there is no memory.
  static std::unique_ptr<SharedState> create(bool alone, std::string* error);
  static std::unique_ptr<SharedState> open(const SegmentAddress& address, std::string* error);

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

  void lock();
  void unlock();

 private:
  struct Block {
    alignas(64) std::atomic<Offset> position{0};
    alignas(64) std::atomic<std::uint32_t> lock{0};  // 0: free, 1: held, 2: held and waited for
  };
  static_assert(std::atomic<Offset>::is_always_lock_free);

  SharedState(std::unique_ptr<SharedSegment> segment, std::unique_ptr<Block> own);

  std::unique_ptr<SharedSegment> segment_;  // null: the block is own_
  std::unique_ptr<Block> own_;
  Block* block_;
};

/// Holds the lock for a scope, if there is one to hold.
class SharedLock {
 public:
  explicit SharedLock(SharedState* state) : state_(state) {
    if (state_ != nullptr) state_->lock();
  }
  ~SharedLock() {
    if (state_ != nullptr) state_->unlock();
  }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  SharedState* state_;
};

}  // namespace tasuki

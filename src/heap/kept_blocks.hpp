// Blocks that the program has freed, kept for its next malloc() of about that size: their pages are there, so
// neither the system nor mimalloc's search for a place is needed. Libc's malloc keeps such blocks too.
//
// It keeps blocks of kBlockBytesMin to kBlockBytesMax bytes, and of the last larger one the first kHeadBytes:
// the rest of that goes back to the system. Together they are kBytesMax at most, in one bin kBinBytesMax.
// Where a block finds no room, others leave first, from one bin after the other, so that sizes that are not
// asked for any more do not stay for ever. A request is served from its own bin or one above it, up to
// twice what is asked for: mimalloc gives as much (1 MiB for 540 KiB, 192 KiB for 128 that are aligned).
//
// To mimalloc a kept block is allocated. The list goes through the blocks' own first bytes.
//
// Thread safety: any thread. A thread that finds another one at work here returns with nothing: keeping is
// never worth a wait. Called inside the gate (heap/gate.hpp), so that no thread is in here during a fork.
#pragma once

#include <atomic>
#include <cstddef>

namespace tasuki::heap {

/// A freed block, in its own first bytes.
struct FreedBlock {
  FreedBlock* next;
  std::size_t bytes;     // that can be used
  std::size_t resident;  // of them, from the start on, that hold anything; behind them is zero
};

class KeptBlocks {
 public:
  static constexpr std::size_t kBlockBytesMin = std::size_t{64} << 10;
  static constexpr std::size_t kBlockBytesMax = std::size_t{34} << 20;
  static constexpr std::size_t kHeadBytes = std::size_t{44} << 20;
  static constexpr std::size_t kBytesMax = std::size_t{48} << 20;
  static constexpr std::size_t kBinBytesMax = std::size_t{16} << 20;  // of more than one block
  static constexpr int kBinBlocksMax = 64;  // each may keep a segment of mimalloc from going back

  static bool is_for(std::size_t bytes) { return bytes >= kBlockBytesMin; }

  /// A block of at least `bytes` at a multiple of `alignment`, with anything in what is resident of it; or
  /// null. What is written in it tells how much that is.
  FreedBlock* take(std::size_t bytes, std::size_t alignment);

  /// Keeps `block`, of which `bytes` can be used and `resident` are there: all, or no more than kHeadBytes.
  /// Returns a list of blocks that must leave, which the caller frees: it may be that one.
  FreedBlock* keep(void* block, std::size_t bytes, std::size_t resident);

  /// All that is kept: where memory is short.
  FreedBlock* drop_all();

  /// In the child of a fork, which has one thread.
  void reset_after_fork();

 private:
  static constexpr int kSteps = 8;  // bins for each power of two
  static constexpr int kBins = 10 * kSteps;
  static constexpr int kBinsTried = kSteps;

  struct Bin {
    FreedBlock* first = nullptr;
    std::size_t bytes = 0;  // resident
    int blocks = 0;
  };

  static int bin_of(std::size_t bytes);
  FreedBlock* take_first(Bin& bin);
  void make_room(std::size_t bytes, FreedBlock** leaving);

  std::atomic<bool> busy_{false};
  Bin bins_[kBins + 1];    // the last one is for the large block
  std::size_t bytes_ = 0;  // resident, of all of them
  int next_to_leave_ = 0;  // a bin
};

}  // namespace tasuki::heap

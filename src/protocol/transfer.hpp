// Transfer: one message that two ranks copy together. The sender takes pieces from the front, the receiver
// from the far end, whoever has time; each says what it has copied, and the transfer is over when that is
// everything. It is one word, in memory that both map, so that a piece is claimed by one compare-and-swap and
// nobody can leave half a claim behind.
//
// The word counts grains: kGrainBytes of the message, or more where it is so long that a field would not do.
// Both ends compute the grain from the size alone. How many grains a rank claims at once is its own affair.
//
// A word serves one transfer after another, each with a generation of its own. So a rank that looks late, at
// a word that serves the next transfer already, learns that its own is over, and claims nothing of that one.
// (A word goes through all generations only while both ranks take part in every one of them, so a rank cannot
// be that late.)
//
// Thread safety: all functions may be called by both ranks at once, but start(), which is the owner's.
//
// Invariants:
//  1. front + back <= grains of the message; done <= front + back.
//  2. A rank adds to `done` what it claimed, after it has copied it: whoever sees everything done sees the
//  bytes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/types.hpp"

namespace tasuki {

inline constexpr int kGrainShift = 10;
inline constexpr Count kGrainBytes = Count{1} << kGrainShift;

/// A message's bytes [begin, end).
struct ByteRange {
  Count begin = 0;
  Count end = 0;
  bool empty() const { return begin == end; }
  Count bytes() const { return end - begin; }
};

class Transfer {
 public:
  static constexpr std::uint32_t kGenerations = 1 << 10;

  /// The owner begins a transfer. Nobody takes part in the one before any more.
  void start(std::uint32_t generation) {
    word_.store(std::uint64_t{generation % kGenerations} << kGenerationAt, std::memory_order_release);
  }

  /// Claims up to `bytes_wanted` bytes of a message of `bytes`; an empty range when none is left.
  ByteRange claim(std::uint32_t generation, Count bytes, bool from_front, Count bytes_wanted) {
    const int shift = grain_shift(bytes);
    const auto grains = static_cast<std::uint64_t>(grains_of(bytes, shift));
    const auto wanted = static_cast<std::uint64_t>(std::max<Count>(1, bytes_wanted >> shift));
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t front = field(word, kFrontAt);
      const std::uint64_t back = field(word, kBackAt);
      if (!is_of(word, generation) || front + back >= grains) return {};
      const std::uint64_t taken = std::min(wanted, grains - front - back);
      const std::uint64_t next = word + (taken << (from_front ? kFrontAt : kBackAt));
      if (!word_.compare_exchange_weak(word, next, std::memory_order_acq_rel, std::memory_order_relaxed)) {
        continue;
      }
      const std::uint64_t first = from_front ? front : grains - back - taken;
      return {static_cast<Count>(first << shift),
              std::min(bytes, static_cast<Count>((first + taken) << shift))};
    }
  }

  /// Bytes of which nobody has claimed the copying; 0 when it is over.
  Count unclaimed(std::uint32_t generation, Count bytes) const {
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    if (!is_of(word, generation)) return 0;
    const int shift = grain_shift(bytes);
    const Count claimed = static_cast<Count>(field(word, kFrontAt) + field(word, kBackAt));
    return (grains_of(bytes, shift) - claimed) << shift;
  }

  /// `range` of this rank's claims, or several that follow each other, have been copied. Returns whether
  /// that was the last of it. seq_cst, because a peer may be about to sleep (Transport::wake).
  bool add_done(Count bytes, const ByteRange& range) {
    const int shift = grain_shift(bytes);
    const auto added = static_cast<std::uint64_t>(grains_of(range.bytes(), shift));
    const std::uint64_t word = word_.fetch_add(added << kDoneAt, std::memory_order_seq_cst);
    return static_cast<Count>(field(word, kDoneAt) + added) == grains_of(bytes, shift);
  }

  bool is_over(std::uint32_t generation, Count bytes) const {
    const std::uint64_t word = word_.load(std::memory_order_seq_cst);
    return !is_of(word, generation) ||
           static_cast<Count>(field(word, kDoneAt)) == grains_of(bytes, grain_shift(bytes));
  }

 private:
  static constexpr int kFieldBits = 18;
  static constexpr std::uint64_t kFieldMask = (std::uint64_t{1} << kFieldBits) - 1;
  static constexpr int kDoneAt = 0, kFrontAt = kFieldBits, kBackAt = 2 * kFieldBits,
                       kGenerationAt = 3 * kFieldBits;

  static std::uint64_t field(std::uint64_t word, int at) { return word >> at & kFieldMask; }
  static bool is_of(std::uint64_t word, std::uint32_t generation) {
    return word >> kGenerationAt == generation % kGenerations;
  }
  static Count grains_of(Count bytes, int shift) { return (bytes + (Count{1} << shift) - 1) >> shift; }
  static int grain_shift(Count bytes) {
    int shift = kGrainShift;
    while (grains_of(bytes, shift) > static_cast<Count>(kFieldMask)) ++shift;
    return shift;
  }

  std::atomic<std::uint64_t> word_;  // generation, back, front, done; writers: both ranks
};
static_assert(sizeof(Transfer) == 8 && std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace tasuki

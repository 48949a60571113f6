// CooperativeCopy: one run of bytes that two ranks copy together. The one takes pieces from the front, the
// other from the far end, whichever has time; each says what it has copied, and the copy is over when that is
// everything. It is one word, in memory that both map, so that a piece is claimed by one compare-and-swap and
// neither can leave half a claim behind.
//
// Large messages go so (sender from the front, receiver from the far end; p2p/large/large.hpp), and large
// puts and gets (origin and target; rma/control/posted_copy.hpp).
//
// The word counts grains: kGrainBytes of the run, or more where it is so long that a field would not do. Both
// ends compute the grain from the size alone. How many grains a rank claims at once is its own affair.
//
// A word serves one copy after another, each with a generation of its own. So a rank that looks late, at a
// word that serves the next copy already, learns that its own is over, and claims nothing of that one. That
// holds for a rank that is late by fewer than kGenerations copies: the users of a word see to it.
//
// Thread safety: all functions may be called by both ranks at once, but start(), which belongs to the rank
// that begins the copy.
//
// Invariants:
//  1. front + back <= grains of the run; done <= front + back.
//  2. A rank adds to `done` what it claimed, after it has copied it: a rank that sees everything done
//  sees the bytes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/types.hpp"

namespace tasuki {

inline constexpr int kGrainShift = 10;
inline constexpr Count kGrainBytes = Count{1} << kGrainShift;

/// Bytes [begin, end) of what is copied.
struct ByteRange {
  Count begin = 0;
  Count end = 0;
  bool empty() const { return begin == end; }
  Count bytes() const { return end - begin; }
};

/// How much a rank claims at once: a part of what is left, so that both come to the end at about the same
/// time, within bounds.
struct ClaimSizes {
  Count divisor = 2;
  Count bytes_min = kGrainBytes;
  Count bytes_max = INT64_MAX;
};

class CooperativeCopy {
 public:
  static constexpr std::uint32_t kGenerations = 1 << 10;

  /// Begins a copy. REQUIRES: neither rank takes part in the one before any more.
  void start(std::uint32_t generation) { word_.store(first_word(generation), std::memory_order_release); }

 private:
  friend class CooperativeCopyEnd;
  static constexpr int kFieldBits = 18;
  static constexpr std::uint64_t kFieldMask = (std::uint64_t{1} << kFieldBits) - 1;
  static constexpr int kDoneAt = 0, kFrontAt = kFieldBits, kBackAt = 2 * kFieldBits,
                       kGenerationAt = 3 * kFieldBits;

  static constexpr std::uint64_t first_word(std::uint32_t generation) {
    return std::uint64_t{generation % kGenerations} << kGenerationAt;
  }

  std::atomic<std::uint64_t> word_;  // generation, back, front, done; writers: both ranks
};
static_assert(sizeof(CooperativeCopy) == 8 && std::atomic<std::uint64_t>::is_always_lock_free);

/// One rank's end of a copy. It remembers what it last saw of the word, so that it need not read before
/// it writes: each step moves the line once.
class CooperativeCopyEnd {
 public:
  CooperativeCopyEnd() = default;
  CooperativeCopyEnd(CooperativeCopy* copy, std::uint32_t generation, Count bytes, bool from_front)
      : copy_(copy), seen_(CooperativeCopy::first_word(generation)), bytes_(bytes), from_front_(from_front) {
    while (grains_of(bytes) > static_cast<Count>(CooperativeCopy::kFieldMask)) ++shift_;
    grains_ = static_cast<std::uint64_t>(grains_of(bytes));
  }

  /// Begins the copy, with the first piece for this rank: one write does both. REQUIRES: neither rank takes
  /// part in the one before any more.
  ByteRange start(Count first_bytes) {
    const auto taken = std::min(grains_, static_cast<std::uint64_t>(grains_of(first_bytes)));
    seen_ |= taken << CooperativeCopy::kFrontAt;
    copy_->word_.store(seen_, std::memory_order_release);
    return {0, std::min(bytes_, static_cast<Count>(taken << shift_))};
  }

  /// Whether there is one: a default object is none.
  bool exists() const { return copy_ != nullptr; }

  /// The bytes of `copied`, which an earlier call gave, have been copied; claims the next piece. Empty: there
  /// is none left. seq_cst, because the other rank may be about to sleep (Node::wake).
  ByteRange claim(const ByteRange& copied, const ClaimSizes& sizes) { return step(copied, &sizes); }

  /// The same without a claim.
  void report(const ByteRange& copied) { step(copied, nullptr); }

  /// Whether what this rank has seen cannot be right (invariant 1). Then there is nothing to claim.
  bool is_damaged() const {
    const std::uint64_t claimed = field(CooperativeCopy::kFrontAt) + field(CooperativeCopy::kBackAt);
    return is_mine() && (claimed > grains_ || field(CooperativeCopy::kDoneAt) > claimed);
  }

  /// Whether there is anything to claim, as far as this rank has seen.
  bool has_unclaimed() const {
    return is_mine() && field(CooperativeCopy::kFrontAt) + field(CooperativeCopy::kBackAt) < grains_;
  }

  /// What this rank has last seen: it changes with each claim and each report.
  std::uint64_t seen() const { return seen_; }

  /// Whether everything has been copied, as far as this rank has seen; look() sees what is new.
  bool is_over() const { return !is_mine() || field(CooperativeCopy::kDoneAt) == grains_; }
  bool look() {
    if (is_over()) return true;
    seen_ = copy_->word_.load(std::memory_order_seq_cst);
    return is_over();
  }

 private:
  bool is_mine() const { return generation_of(seen_) == generation_; }
  static std::uint64_t generation_of(std::uint64_t word) { return word >> CooperativeCopy::kGenerationAt; }
  std::uint64_t field(int at) const { return seen_ >> at & CooperativeCopy::kFieldMask; }
  Count grains_of(Count bytes) const { return (bytes + (Count{1} << shift_) - 1) >> shift_; }

  ByteRange step(const ByteRange& copied, const ClaimSizes* sizes) {
    const auto done = static_cast<std::uint64_t>(grains_of(copied.bytes()));
    for (;;) {
      if (!is_mine() || is_damaged()) return {};
      const std::uint64_t front = field(CooperativeCopy::kFrontAt);
      const std::uint64_t back = field(CooperativeCopy::kBackAt);
      const std::uint64_t left = grains_ - front - back;
      const std::uint64_t taken = sizes != nullptr ? share_of(left, *sizes) : 0;
      const std::uint64_t next =
          seen_ + (done << CooperativeCopy::kDoneAt) +
          (taken << (from_front_ ? CooperativeCopy::kFrontAt : CooperativeCopy::kBackAt));
      if (next == seen_) return {};
      if (!copy_->word_.compare_exchange_weak(seen_, next, std::memory_order_seq_cst,
                                              std::memory_order_seq_cst)) {
        continue;
      }
      seen_ = next;
      if (taken == 0) return {};
      const std::uint64_t first = from_front_ ? front : grains_ - back - taken;
      return {static_cast<Count>(first << shift_),
              std::min(bytes_, static_cast<Count>((first + taken) << shift_))};
    }
  }

  std::uint64_t share_of(std::uint64_t left, const ClaimSizes& sizes) const {
    const Count part = (static_cast<Count>(left) << shift_) / sizes.divisor;
    const Count wanted = std::max(sizes.bytes_min, std::min(part, sizes.bytes_max)) >> shift_;
    return std::min(left, static_cast<std::uint64_t>(std::max<Count>(wanted, 1)));
  }

  CooperativeCopy* copy_ = nullptr;
  std::uint64_t seen_ = 0;
  std::uint64_t generation_ = generation_of(seen_);
  std::uint64_t grains_ = 0;
  Count bytes_ = 0;
  int shift_ = kGrainShift;
  bool from_front_ = false;
};

}  // namespace tasuki

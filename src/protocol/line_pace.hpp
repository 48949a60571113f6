// LinePace: whether cache lines travel far from another rank to this one, found out beside the messages.
//
// Where two processors share a cache a line that the one has written is with the other in 10 to 60 ns; where
// they do not it takes 100 and more, and then what is written for the other one had better go past the caches
// (docs/protocols.md). Virtual machines do not know which: they say that their processors share a cache, and
// may be moved to others. So with some long messages the sender writes a line that nobody reads for anything
// else, and the receiver looks how long it takes to load. Both count the messages and so agree on which.
//
// Pure: the times come from its user. Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tasuki {

enum class Lines : std::uint32_t { kUnknown, kNear, kFar };

class LinePace {
 public:
  static constexpr std::uint32_t kPeriod = 8;
  /// From here on messages count.
  static constexpr std::int64_t kBytesMin = 16 * 1024;
  /// Which messages of a pair's are sampled, by their numbers: the first ones, and then some.
  static constexpr bool is_sampled(std::uint32_t number) { return number < kPeriod || number % kPeriod == 0; }

  /// A line took `ns` to load. Returns whether that changes what lines() says.
  constexpr bool add(std::int64_t ns) {
    votes_ = std::clamp(votes_ + (ns >= kFarNanoseconds ? 1 : -1), -kVotesMax, kVotesMax);
    const Lines before = lines_;
    if (votes_ >= kVotesToChange) lines_ = Lines::kFar;
    if (votes_ <= -kVotesToChange) lines_ = Lines::kNear;
    return lines_ != before;
  }

  constexpr Lines lines() const { return lines_; }

 private:
  static constexpr std::int64_t kFarNanoseconds = 60;
  /// The present belief is given up when so many more samples speak against it than for it: a rank that was
  /// interrupted while it looked says nothing.
  static constexpr int kVotesToChange = 3, kVotesMax = 4;

  int votes_ = 0;  // above 0: far
  Lines lines_ = Lines::kUnknown;
};

}  // namespace tasuki

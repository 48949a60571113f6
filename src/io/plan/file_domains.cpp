// Windows by arithmetic. Nothing here overflows for any range of nonnegative offsets: products of a piece's
// number and its size are formed only for pieces that begin before the end.
#include "io/plan/file_domains.hpp"

#include <algorithm>

namespace tasuki {
namespace {

/// REQUIRES: amount > 0, unit > 0.
Count quotient_up(Count amount, Count unit) {
  return (amount - 1) / unit + 1;
}

/// What each of `parts` gets of `bytes`, a multiple of `alignment`; `bytes` itself where that is not more.
Count aligned_share(Count bytes, int parts, Count alignment) {
  const Count units = quotient_up(quotient_up(bytes, parts), alignment);
  return units > bytes / alignment ? bytes : units * alignment;
}

}  // namespace

FileDomains FileDomains::blocks(FileRange all, int aggregators, Count alignment, Count buffer_bytes) {
  FileDomains made;
  made.all_ = all;
  made.aggregators_ = aggregators;
  if (all.bytes() == 0) return made;
  made.origin_ = all.begin - all.begin % alignment;
  made.piece_bytes_ = aligned_share(all.end - made.origin_, aggregators, alignment);
  made.window_bytes_ = buffer_bytes < alignment ? buffer_bytes : buffer_bytes - buffer_bytes % alignment;
  made.count_cycles();
  return made;
}

FileDomains FileDomains::stripes(FileRange all, int aggregators, Count stripe_bytes, Count buffer_bytes) {
  FileDomains made;
  made.all_ = all;
  made.aggregators_ = aggregators;
  if (all.bytes() == 0) return made;
  const Count first = all.begin / stripe_bytes;
  made.origin_ = first * stripe_bytes;
  made.piece_bytes_ = stripe_bytes;
  made.window_bytes_ = std::min(buffer_bytes, stripe_bytes);
  made.first_owner_ = static_cast<int>(first % aggregators);
  made.count_cycles();
  return made;
}

void FileDomains::count_cycles() {
  for (int aggregator = 0; aggregator < aggregators_; ++aggregator)
    cycles_ = std::max(cycles_, windows_of(aggregator));
}

Count FileDomains::turn_of(int aggregator) const {
  return aggregator >= first_owner_ ? aggregator - first_owner_ : aggregator - first_owner_ + aggregators_;
}

Count FileDomains::windows_of(int aggregator) const {
  const Count turn = turn_of(aggregator);
  const Count bytes = all_.end - origin_;
  const Count pieces = quotient_up(bytes, piece_bytes_);
  if (turn >= pieces) return 0;
  const Count own = (pieces - 1 - turn) / aggregators_ + 1;
  const Count last = turn + (own - 1) * aggregators_;
  const Count last_bytes = std::min(piece_bytes_, bytes - last * piece_bytes_);
  const Count all =
      (own - 1) * quotient_up(piece_bytes_, window_bytes_) + quotient_up(last_bytes, window_bytes_);
  return all - (turn == 0 ? skipped() : 0);
}

FileRange FileDomains::window(int aggregator, Count cycle) const {
  if (cycle >= cycles_ || cycle >= windows_of(aggregator)) return {};
  const Count turn = turn_of(aggregator);
  const Count number = cycle + (turn == 0 ? skipped() : 0);
  const Count in_piece = quotient_up(piece_bytes_, window_bytes_);
  const Offset piece = origin_ + (turn + number / in_piece * aggregators_) * piece_bytes_;
  const Offset begin = piece + number % in_piece * window_bytes_;
  const Count left_in_piece = piece_bytes_ - (begin - piece);
  const Count bytes = std::min({window_bytes_, left_in_piece, all_.end - begin});
  return {std::max(begin, all_.begin), begin + bytes};
}

}  // namespace tasuki

// FileDomains: which aggregator has which bytes of a collective access in which cycle. A window is what one
// collective buffer holds.
//
// Two forms. In *blocks*: each aggregator has one piece of the file and goes through it window by window (as
// ROMIO). In *stripes*: windows of one stripe go round the aggregators, so that each has those of its own
// storage target (as on Lustre). Windows begin at multiples of the alignment, but for the first one.
//
// Pure, and small: nothing is stored for each window. Aggregators are numbered 0, 1, ...; which ranks these
// are is aggregators.hpp's matter.
#pragma once

#include "base/types.hpp"
#include "io/view/ranges.hpp"

namespace tasuki {

class FileDomains {
 public:
  FileDomains() = default;
  /// `alignment` > 0: of the pieces and of their windows. `buffer_bytes` > 0: of a window; where it is below
  /// the alignment, windows are that small, and the pieces alone are aligned.
  /// REQUIRES, here and below: 0 <= all.begin <= all.end, aggregators > 0.
  static FileDomains blocks(FileRange all, int aggregators, Count alignment, Count buffer_bytes);
  /// Windows are stripes, or parts of stripes where `buffer_bytes` is less.
  static FileDomains stripes(FileRange all, int aggregators, Count stripe_bytes, Count buffer_bytes);

  int aggregators() const { return aggregators_; }
  /// How many windows the aggregator that has the most has.
  Count cycles() const { return cycles_; }
  /// Empty (begin == end) where the aggregator has nothing in that cycle. Over all aggregators and cycles the
  /// windows are disjoint and cover `all`.
  FileRange window(int aggregator, Count cycle) const;

 private:
  void count_cycles();
  /// Which of the first `aggregators_` pieces the aggregator has.
  Count turn_of(int aggregator) const;
  Count windows_of(int aggregator) const;
  /// Windows of the first piece that lie wholly before `all_`.
  Count skipped() const { return (all_.begin - origin_) / window_bytes_; }

  // The file's pieces from `origin_` on go round the aggregators; in blocks there is one for each of them.
  FileRange all_;
  int aggregators_ = 0;
  int first_owner_ = 0;  // the aggregator that has the first piece
  Count cycles_ = 0;
  Offset origin_ = 0;
  Count piece_bytes_ = 1;
  Count window_bytes_ = 1;
};

}  // namespace tasuki

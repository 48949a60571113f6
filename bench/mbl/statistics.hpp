// What samples say: the median, where it lies with 95 % confidence, and which samples are far from it. Pure.
#pragma once

#include <vector>

namespace mbl {

struct Summary {
  double median = 0;
  double low = 0, high = 0;   // the median of all that could be drawn lies between, in 95 of 100 cases
  std::vector<int> outliers;  // indices of the samples, ascending
};

/// The fewest samples that bound a median with 95 % confidence; of fewer, low and high are the extremes.
inline constexpr int kSamplesForInterval = 6;

/// REQUIRES: at least one sample. The interval is between two order statistics, by the binomial distribution:
/// nothing is assumed of how samples are distributed.
Summary summarise(const std::vector<double>& samples);

/// The interval reaches from the k-th smallest to the k-th largest of n samples; 0 where n is too few for
/// one.
int interval_rank(int n);

}  // namespace mbl

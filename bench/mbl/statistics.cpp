// What samples say (see statistics.hpp).
#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace mbl {

namespace {

constexpr double kTail = 0.025;
/// Of modified z-scores (Iglewicz and Hoaglin): 0.6745 (x - median) / MAD.
constexpr double kScoreMax = 3.5, kScoreFactor = 0.6745;
/// Clocks tick: where half of the samples are equal the MAD is 0, and this part of the median is not far.
constexpr double kNear = 0.01;

double median_of_sorted(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

}  // namespace

int interval_rank(int n) {
  double below = 0;  // the probability that at most k - 1 of n samples lie below the true median
  for (int k = 1; k <= n / 2; ++k) {
    below += std::exp(std::lgamma(n + 1.0) - std::lgamma(k) - std::lgamma(n - k + 2.0) - n * std::log(2.0));
    if (below > kTail) return k - 1;
  }
  return n / 2;
}

Summary summarise(const std::vector<double>& samples) {
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  const int n = static_cast<int>(sorted.size());
  Summary summary;
  summary.median = median_of_sorted(sorted);
  const int outside = std::max(0, interval_rank(n) - 1);
  summary.low = sorted[static_cast<std::size_t>(outside)];
  summary.high = sorted[static_cast<std::size_t>(n - 1 - outside)];
  std::vector<double> distances;
  for (const double sample : samples) distances.push_back(std::abs(sample - summary.median));
  std::vector<double> ordered = distances;
  std::sort(ordered.begin(), ordered.end());
  const double far =
      std::max(kScoreMax / kScoreFactor * median_of_sorted(ordered), kNear * std::abs(summary.median));
  for (int i = 0; i < n; ++i) {
    if (distances[static_cast<std::size_t>(i)] > far) summary.outliers.push_back(i);
  }
  return summary;
}

}  // namespace mbl

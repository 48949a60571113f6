// Cutting a row of columns: the least bound that suffices, by bisection, and then cuts within it.
#include "balance.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace spam {
namespace {

using Costs = std::span<const double>;

/// The end of the longest piece that begins at `begin` and costs at most `bound`.
int reach(Costs before, int begin, double bound) {
  const double limit = before[static_cast<std::size_t>(begin)] + bound;
  return static_cast<int>(std::upper_bound(before.begin() + begin, before.end(), limit) - before.begin()) - 1;
}

/// Whether so many pieces are enough when none costs more than `bound`.
bool suffices(Costs before, int pieces, double bound) {
  const int columns = static_cast<int>(before.size()) - 1;
  int at = 0;
  for (int piece = 0; piece < pieces && at < columns; ++piece) {
    const int end = reach(before, at, bound);
    if (end == at) return false;
    at = end;
  }
  return at >= columns;
}

/// The least bound that suffices, to the bit: doubles that are not negative are ordered as their bits are.
double least_bound(Costs before, int pieces) {
  std::uint64_t low = 0, high = std::bit_cast<std::uint64_t>(before.back());
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (suffices(before, pieces, std::bit_cast<double>(middle)))
      high = middle;
    else
      low = middle + 1;
  }
  return std::bit_cast<double>(high);
}

}  // namespace

void balanced_cuts(std::span<const double> cost_before, std::span<int> ends) {
  const int columns = static_cast<int>(cost_before.size()) - 1;
  const int pieces = std::min(static_cast<int>(ends.size()), columns);
  std::fill(ends.begin(), ends.end(), columns);
  if (pieces == 0) return;
  const double bound = least_bound(cost_before, pieces);
  // First the earliest ends, from behind: where the rest just fits into the pieces that are left.
  for (int piece = pieces - 1, first = columns; piece > 0; --piece) {
    while (first > piece && reach(cost_before, first - 1, bound) >= ends[static_cast<std::size_t>(piece)])
      --first;
    ends[static_cast<std::size_t>(piece - 1)] = first;
  }
  // Then from the front the column nearest to an equal share of the rest, between the earliest and the last
  // that the bound allows.
  for (int piece = 0, begin = 0; piece < pieces - 1; ++piece) {
    int& end = ends[static_cast<std::size_t>(piece)];
    const int last = std::min(reach(cost_before, begin, bound), columns - (pieces - 1 - piece));
    const double done = cost_before[static_cast<std::size_t>(begin)];
    const double share = done + (cost_before.back() - done) / (pieces - piece);
    const auto above = std::lower_bound(cost_before.begin(), cost_before.end(), share);
    int nearest = static_cast<int>(above - cost_before.begin());
    if (nearest > 0 && share - above[-1] < *above - share) --nearest;
    end = std::max(begin + 1, std::min(std::max(nearest, end), last));
    begin = end;
  }
}

}  // namespace spam

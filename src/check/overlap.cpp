// Where buffers lie, and whether two of them share a byte.
#include "check/overlap.hpp"

#include <algorithm>
#include <cstring>

#include "datatype/layout.hpp"

namespace tasuki {
namespace {

constexpr std::size_t kRunsLookedAtMax = std::size_t{1} << 16;

PlacedElements placed(const Area& area) {
  return {area.address, area.count, area.type->extent, *area.type->layout};
}

/// The smallest and largest of what count - 1 steps of `extent` lead to.
Count least(Count extent, Count steps) {
  return extent < 0 ? extent * steps : 0;
}
Count most(Count extent, Count steps) {
  return extent > 0 ? extent * steps : 0;
}

std::uint64_t mixed(std::uint64_t sum, std::uint64_t word) {
  sum = (sum ^ word) * 0x9e3779b97f4a7c15;
  return sum ^ sum >> 29;
}

std::uint64_t checksum_bytes(std::uint64_t sum, const std::byte* data, std::size_t bytes) {
  for (; bytes >= sizeof(std::uint64_t); data += sizeof(std::uint64_t), bytes -= sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, data, sizeof word);
    sum = mixed(sum, word);
  }
  std::uint64_t last = bytes;
  std::memcpy(&last, data, bytes);
  return mixed(sum, last);
}

}  // namespace

ByteSpan Area::hull() const {
  if (empty()) return {};
  if (is_dense()) return {address, address + static_cast<std::uintptr_t>(count)};
  const Count steps = count - 1;
  const Count begin = type->true_lb + least(type->extent, steps);
  const Count end = type->true_lb + type->true_extent + most(type->extent, steps);
  return {address + static_cast<std::uintptr_t>(begin), address + static_cast<std::uintptr_t>(end)};
}

std::optional<std::vector<ByteSpan>> runs_of(const Area& area) {
  std::vector<ByteSpan> runs;
  if (area.empty()) return runs;
  if (area.is_dense()) {
    runs.push_back(area.hull());
    return runs;
  }
  const Count runs_of_one = std::max<Count>(area.type->layout->runs, 1);
  if (static_cast<std::uint64_t>(area.count) > kRunsLookedAtMax / static_cast<std::uint64_t>(runs_of_one))
    return std::nullopt;
  runs.reserve(static_cast<std::size_t>(area.count * runs_of_one));
  visit_runs(
      placed(area), 0, area.count * area.type->size,
      [](void* context, std::byte* place, Count bytes) {
        const auto begin = reinterpret_cast<std::uintptr_t>(place);
        static_cast<std::vector<ByteSpan>*>(context)->push_back(
            {begin, begin + static_cast<std::uintptr_t>(bytes)});
      },
      &runs);
  std::sort(runs.begin(), runs.end(), [](const ByteSpan& a, const ByteSpan& b) { return a.begin < b.begin; });
  return runs;
}

ByteSpan shared_bytes(const Area& one, const Area& other) {
  const ByteSpan a = one.hull(), b = other.hull();
  if (a.empty() || b.empty() || a.end <= b.begin || b.end <= a.begin) return {};
  if (one.is_dense() && other.is_dense()) return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
  const auto first = runs_of(one), second = runs_of(other);
  if (!first || !second) return {};
  for (std::size_t i = 0, j = 0; i < first->size() && j < second->size();) {
    const ByteSpan &x = (*first)[i], &y = (*second)[j];
    const ByteSpan both{std::max(x.begin, y.begin), std::min(x.end, y.end)};
    if (!both.empty()) return both;
    x.end < y.end ? ++i : ++j;
  }
  return {};
}

ByteSpan bytes_held_twice(const Area& area) {
  if (area.is_dense()) return {};
  const auto runs = runs_of(area);
  if (!runs) return {};
  std::uintptr_t end = 0;
  for (const ByteSpan& run : *runs) {
    if (run.begin < end) return {run.begin, std::min(run.end, end)};
    end = std::max(end, run.end);
  }
  return {};
}

bool is_out_of_memory(const Area& area) {
  constexpr std::uintptr_t kFirstAddress = 4096;
  constexpr std::uintptr_t kLastAddress = ~std::uintptr_t{0} >> 1;  // above are the kernel's
  const ByteSpan hull = area.hull();
  if (area.empty()) return false;
  return hull.begin < kFirstAddress || hull.end > kLastAddress || hull.empty();
}

std::uint64_t checksum_of(const Area& area) {
  std::uint64_t sum = 1;
  if (area.empty()) return sum;
  if (area.is_dense())
    return checksum_bytes(sum, reinterpret_cast<const std::byte*>(area.address),
                          static_cast<std::size_t>(area.count));
  visit_runs(
      placed(area), 0, area.count * area.type->size,
      [](void* context, std::byte* place, Count bytes) {
        auto* const so_far = static_cast<std::uint64_t*>(context);
        *so_far = checksum_bytes(*so_far, place, static_cast<std::size_t>(bytes));
      },
      &sum);
  return sum;
}

}  // namespace tasuki

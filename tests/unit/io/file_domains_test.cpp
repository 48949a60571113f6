// The windows of a collective access: disjoint, covering, in order and aligned, for every small case; and at
// the far end of what an offset can be.
#include "io/plan/file_domains.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tasuki {
namespace {

struct Window {
  int aggregator;
  Count cycle;
  FileRange range;
};

/// All windows that are not empty, by their place.
std::vector<Window> windows_of(const FileDomains& domains) {
  std::vector<Window> windows;
  for (int aggregator = 0; aggregator < domains.aggregators(); ++aggregator) {
    for (Count cycle = 0; cycle < domains.cycles() + 2; ++cycle) {
      const FileRange range = domains.window(aggregator, cycle);
      if (range.bytes() != 0) windows.push_back({aggregator, cycle, range});
    }
  }
  std::sort(windows.begin(), windows.end(),
            [](const Window& a, const Window& b) { return a.range.begin < b.range.begin; });
  return windows;
}

/// What holds in both forms. Returns the windows.
std::vector<Window> check(const FileDomains& domains, const FileRange& all, Count buffer_bytes) {
  const std::vector<Window> windows = windows_of(domains);
  Offset end = all.begin;
  std::vector<Count> used(static_cast<std::size_t>(domains.aggregators()));
  for (const Window& window : windows) {
    EXPECT_EQ(window.range.begin, end);
    EXPECT_GT(window.range.bytes(), 0);
    EXPECT_LE(window.range.bytes(), buffer_bytes);
    // An aggregator's windows are its cycles 0, 1, ... in the order of the file.
    EXPECT_EQ(window.cycle, used[static_cast<std::size_t>(window.aggregator)]++);
    end = window.range.end;
  }
  EXPECT_EQ(end, all.end);
  EXPECT_EQ(domains.cycles(), *std::max_element(used.begin(), used.end()));
  return windows;
}

TEST(FileDomains, BlocksCoverAndAreAlignedInEverySmallCase) {
  for (Offset begin = 0; begin < 9; ++begin) {
    for (Offset end = begin; end < 24; ++end) {
      for (int aggregators = 1; aggregators < 6; ++aggregators) {
        for (Count alignment = 1; alignment < 8; ++alignment) {
          for (Count buffer = 1; buffer < 12; ++buffer) {
            SCOPED_TRACE(testing::Message()
                         << begin << " " << end << " " << aggregators << " " << alignment << " " << buffer);
            const FileRange all{begin, end};
            const auto windows = check(FileDomains::blocks(all, aggregators, alignment, buffer), all, buffer);
            for (std::size_t i = 1; i < windows.size(); ++i) {
              const bool same = windows[i].aggregator == windows[i - 1].aggregator;
              EXPECT_GE(windows[i].aggregator, windows[i - 1].aggregator);
              if (!same || buffer >= alignment) EXPECT_EQ(windows[i].range.begin % alignment, 0);
            }
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(FileDomains, StripesBelongToTheAggregatorOfTheirNumberInEverySmallCase) {
  for (Offset begin = 0; begin < 9; ++begin) {
    for (Offset end = begin; end < 30; ++end) {
      for (int aggregators = 1; aggregators < 6; ++aggregators) {
        for (Count stripe = 1; stripe < 8; ++stripe) {
          for (Count buffer = 1; buffer < 10; ++buffer) {
            SCOPED_TRACE(testing::Message()
                         << begin << " " << end << " " << aggregators << " " << stripe << " " << buffer);
            const FileRange all{begin, end};
            const auto windows = check(FileDomains::stripes(all, aggregators, stripe, buffer), all, buffer);
            for (const Window& window : windows) {
              EXPECT_EQ(window.range.begin / stripe % aggregators, window.aggregator);
              EXPECT_EQ(window.range.begin / stripe, (window.range.end - 1) / stripe);
              const bool first = window.range.begin == begin;
              if (!first) EXPECT_EQ(window.range.begin % stripe % buffer, 0);
            }
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(FileDomains, BlocksAreAsLargeAsEachOtherWhereTheAlignmentAllows) {
  const FileDomains domains = FileDomains::blocks({0, 40 << 20}, 4, 4096, 16 << 20);
  EXPECT_EQ(domains.cycles(), 1);
  for (int aggregator = 0; aggregator < 4; ++aggregator)
    EXPECT_EQ(domains.window(aggregator, 0).bytes(), 10 << 20);
}

TEST(FileDomains, NothingAndOneByte) {
  EXPECT_EQ(FileDomains::blocks({7, 7}, 3, 4, 8).cycles(), 0);
  EXPECT_EQ(FileDomains::blocks({7, 7}, 3, 4, 8).window(0, 0).bytes(), 0);
  EXPECT_EQ(FileDomains::stripes({7, 7}, 3, 4, 8).cycles(), 0);
  const FileDomains one = FileDomains::blocks({1000001, 1000002}, 8, 1 << 20, 1 << 20);
  EXPECT_EQ(one.cycles(), 1);
  EXPECT_EQ(one.window(0, 0).begin, 1000001);
  EXPECT_EQ(one.window(0, 0).end, 1000002);
  EXPECT_EQ(one.window(1, 0).bytes(), 0);
  EXPECT_EQ(FileDomains().cycles(), 0);
}

TEST(FileDomains, NothingOverflowsAtTheEndOfTheOffsets) {
  const Offset last = INT64_MAX;
  for (const Count alignment : {Count{1}, Count{4096}, Count{1} << 40, Count{1} << 62}) {
    for (const Offset begin : {Offset{0}, last - (Offset{1} << 41), last - 1}) {
      const Count buffer = std::max<Count>((last - begin) / 5, 1);
      SCOPED_TRACE(testing::Message() << alignment << " " << begin);
      check(FileDomains::blocks({begin, last}, 3, alignment, buffer), {begin, last}, buffer);
    }
  }
  const Offset begin = last - (Offset{100} << 20);
  check(FileDomains::stripes({begin, last}, 7, 1 << 20, 300000), {begin, last}, 300000);
}

}  // namespace
}  // namespace tasuki

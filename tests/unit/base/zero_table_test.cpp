// Shows that entries are zero at first, that pages which nobody wrote to are not there, and that they stay so
// when the table grows.
#include "base/zero_table.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

namespace tasuki {
namespace {

constexpr std::size_t kMany = 1'000'000;

/// Pages of the table that are there.
template <class Entry>
std::size_t resident_pages(const ZeroTable<Entry>& table) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> states((table.size() * sizeof(Entry) + page - 1) / page);
  EXPECT_EQ(mincore(const_cast<Entry*>(&table[0]), table.size() * sizeof(Entry), states.data()), 0);
  std::size_t count = 0;
  for (const unsigned char state : states) count += state & 1U;
  return count;
}

TEST(ZeroTable, IsZeroAtFirst) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, kMany}) {
    const ZeroTable<std::uint64_t> table(size);
    EXPECT_EQ(table.size(), size);
    EXPECT_EQ(table[0], 0u);
    EXPECT_EQ(table[size - 1], 0u);
  }
}

TEST(ZeroTable, TakesMemoryOfWhatIsWrittenAlone) {
  ZeroTable<std::uint64_t> table(kMany);
  table[5] = 1;
  table[kMany - 1] = 2;
  EXPECT_EQ(resident_pages(table), 2u);
}

TEST(ZeroTable, GrowsWithWhatIsThereAndNothingElse) {
  ZeroTable<std::uint64_t> table(3);
  table[2] = 7;
  for (const std::size_t size : {std::size_t{50}, kMany, 3 * kMany, std::size_t{9}}) table.grow(size);
  EXPECT_EQ(resident_pages(table), 1u);
  EXPECT_EQ(table.size(), 3 * kMany);
  EXPECT_EQ(table[2], 7u);
  EXPECT_EQ(table[3 * kMany - 1], 0u);
}

}  // namespace
}  // namespace tasuki

// Global memory without arenas: a private rank shares nothing; ranks that are threads share everything, but
// not with endpoints of other jobs, and no range that wraps around.
#include "memory/global_memory.hpp"

#include <gtest/gtest.h>

namespace tasuki {
namespace {

TEST(GlobalMemory, PrivateSharesNothing) {
  const auto memory = make_private_memory();
  int word = 0;
  EXPECT_EQ(memory->find(&word, sizeof word), 0u);
  EXPECT_FALSE(memory->reach(0, reinterpret_cast<GlobalAddress>(&word), sizeof word));
}

TEST(GlobalMemory, CommonSharesEverythingAmongItsRanks) {
  const auto memory = make_common_memory({true, true});
  int word = 0;
  const auto address = reinterpret_cast<GlobalAddress>(&word);
  EXPECT_EQ(memory->find(&word, sizeof word), address);
  EXPECT_TRUE(memory->reach(1, address, sizeof word));
  EXPECT_FALSE(memory->reach(2, address, sizeof word)) << "an endpoint of another job";
}

TEST(GlobalMemory, RangesDoNotWrapAround) {
  const auto memory = make_common_memory({true});
  EXPECT_FALSE(memory->reach(0, UINT64_MAX - 7, 16));
  EXPECT_FALSE(memory->reach(0, 0, 1));
}

}  // namespace
}  // namespace tasuki

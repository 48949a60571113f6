// Symmetric memory without symmetric heaps: a private rank shares nothing; ranks that are threads share
// everything, but not with endpoints of other jobs, and no range that wraps around.
#include "memory/symmetric_heap.hpp"

#include <gtest/gtest.h>

namespace tasuki {
namespace {

TEST(SymmetricHeap, PrivateSharesNothing) {
  const auto memory = make_private_heap();
  int word = 0;
  EXPECT_EQ(memory->locate(&word, sizeof word).address, 0u);
  EXPECT_FALSE(memory->locate(0, reinterpret_cast<SymmetricAddress>(&word), sizeof word).is_shared());
}

TEST(SymmetricHeap, CommonSharesEverythingAmongItsRanks) {
  const auto memory = make_common_heap(0, {true, true});
  int word = 0;
  const auto address = reinterpret_cast<SymmetricAddress>(&word);
  EXPECT_EQ(memory->locate(&word, sizeof word).address, address);
  EXPECT_TRUE(memory->locate(1, address, sizeof word).is_shared());
  EXPECT_FALSE(memory->locate(2, address, sizeof word).is_shared()) << "an endpoint of another job";
}

TEST(SymmetricHeap, SaysWhatKindOfMemoryItIsAndWhose) {
  const auto memory = make_common_heap(1, {true, true, false});
  int word = 0;
  const auto address = reinterpret_cast<SymmetricAddress>(&word);
  const MemoryPlace own = memory->locate(&word, sizeof word);
  EXPECT_EQ(own.kind, MemoryKind::kSymmetricHeap);
  EXPECT_EQ(own.owner, 1);
  const MemoryPlace told = memory->locate(0, address, sizeof word);
  EXPECT_EQ(told.kind, MemoryKind::kSymmetricHeap);
  EXPECT_EQ(told.owner, 0);
  EXPECT_EQ(told.address, address);
  const MemoryPlace unreached = memory->locate(2, address, sizeof word);
  EXPECT_EQ(unreached.kind, MemoryKind::kPrivate);
  EXPECT_EQ(unreached.owner, -1);
  EXPECT_EQ(unreached.address, 0u);
}

TEST(SymmetricHeap, RangesDoNotWrapAround) {
  const auto memory = make_common_heap(0, {true});
  EXPECT_FALSE(memory->locate(0, UINT64_MAX - 7, 16).is_shared());
  EXPECT_FALSE(memory->locate(0, 0, 1).is_shared());
}

}  // namespace
}  // namespace tasuki

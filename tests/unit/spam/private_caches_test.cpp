// The model of caches counts what a cache of that shape would: by hand for small ones.
#include "private_caches.hpp"

#include <gtest/gtest.h>

namespace spam {
namespace {

constexpr CacheShape kTwoSets{256, 64, 2};  // 2 sets of 2 lines: even and odd lines

TEST(PrivateCaches, KeepsTheLinesUsedLast) {
  PrivateCaches caches(kTwoSets, 1);
  for (const std::uint64_t line : {0, 2, 0, 4, 0, 2, 1}) caches.access(0, line, false, true);
  // 0 and 2 come; 4 drives out 2, which was used before 0; then 2 comes again, and 1 into the other set.
  EXPECT_EQ(caches.counts().references, 7);
  EXPECT_EQ(caches.counts().misses, 5);
  EXPECT_EQ(caches.counts().transactions, 5);
  EXPECT_EQ(caches.counts().lost, 0);
}

TEST(PrivateCaches, WritesBackWhatLeaves) {
  PrivateCaches caches(kTwoSets, 1);
  for (const std::uint64_t line : {0, 2, 4, 6}) caches.access(0, line, true, true);
  EXPECT_EQ(caches.counts().misses, 4);
  EXPECT_EQ(caches.counts().transactions, 6);  // 0 and 2 are written back
}

TEST(PrivateCaches, LosesLinesThatAnotherThreadWrites) {
  PrivateCaches caches(kTwoSets, 2);
  caches.access(0, 8, false, true);  // a miss
  caches.access(1, 8, false, true);  // a miss: both share it
  caches.access(0, 8, true, true);   // it is there, but has to be taken from the other
  caches.access(1, 8, false, true);  // lost: a miss
  caches.access(0, 8, false, true);  // still there
  EXPECT_EQ(caches.counts().misses, 3);
  EXPECT_EQ(caches.counts().lost, 1);
  EXPECT_EQ(caches.counts().transactions, 4);
}

TEST(PrivateCaches, WritesToItsOwnLineInSilence) {
  PrivateCaches caches(kTwoSets, 2);
  caches.access(0, 8, false, true);
  caches.access(0, 8, true, true);
  caches.access(1, 9, true, true);
  EXPECT_EQ(caches.counts().transactions, 2);
  EXPECT_EQ(caches.counts().misses, 2);
}

TEST(PrivateCaches, GoesOnUncounted) {
  PrivateCaches caches(kTwoSets, 1);
  caches.access(0, 8, false, false);
  EXPECT_EQ(caches.counts().references, 0);
  caches.access(0, 8, false, true);
  EXPECT_EQ(caches.counts().references, 1);
  EXPECT_EQ(caches.counts().misses, 0);
}

}  // namespace
}  // namespace spam

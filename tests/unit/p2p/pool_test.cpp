// SlotPool: ids find living objects only, and slots are used again.
#include "p2p/slot_pool.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace tasuki {
namespace {

struct Counted {
  explicit Counted(int* alive_count) : alive(alive_count) { ++*alive; }
  ~Counted() { --*alive; }
  int* alive;
};

TEST(SlotPool, AnIdFindsItsObjectUntilItIsGone) {
  SlotPool<Counted> pool;
  int alive = 0;
  Counted* first = pool.make(&alive);
  const RequestId id = pool.id(first);
  EXPECT_NE(id, 0u);
  EXPECT_EQ(pool.find(id), first);
  pool.destroy(first);
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(pool.find(id), nullptr);
  Counted* second = pool.make(&alive);
  EXPECT_EQ(second, first) << "the slot is used again";
  EXPECT_EQ(pool.find(id), nullptr) << "a stale id must not find the next object";
  EXPECT_EQ(pool.find(pool.id(second)), second);
  pool.destroy(second);
}

TEST(SlotPool, ForgedIdsFindNothing) {
  SlotPool<Counted> pool;
  EXPECT_EQ(pool.find(0), nullptr);
  EXPECT_EQ(pool.find(~RequestId{0}), nullptr);
  int alive = 0;
  Counted* one = pool.make(&alive);
  const RequestId id = pool.id(one);
  EXPECT_EQ(pool.find(id + 1), nullptr) << "a slot that was never used";
  EXPECT_EQ(pool.find(id + (RequestId{1} << 32)), nullptr) << "an even generation: free";
  EXPECT_EQ(pool.find(id + (RequestId{2} << 32)), nullptr) << "a generation to come";
  EXPECT_EQ(pool.find(id | 0xffffffffu), nullptr);
  pool.destroy(one);
}

TEST(SlotPool, GrowsAndTellsAllThatLive) {
  SlotPool<Counted> pool;
  int alive = 0;
  std::vector<Counted*> all;
  std::set<RequestId> ids;
  for (int i = 0; i < 1000; ++i) {
    all.push_back(pool.make(&alive));
    ids.insert(pool.id(all.back()));
  }
  EXPECT_EQ(ids.size(), 1000u);
  for (std::size_t i = 0; i < all.size(); i += 2) pool.destroy(all[i]);
  int seen = 0;
  pool.for_each([&](Counted&) { ++seen; });
  EXPECT_EQ(seen, 500);
  EXPECT_EQ(alive, 500);
  for (std::size_t i = 1; i < all.size(); i += 2) pool.destroy(all[i]);
}

}  // namespace
}  // namespace tasuki

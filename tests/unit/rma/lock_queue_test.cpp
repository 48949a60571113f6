// LockQueue: readers together, writers alone, in the order of the requests; and whom a rank waits for.
#include "rma/control/lock_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tasuki::rma {
namespace {

std::vector<int> grant_all(LockQueue& queue) {
  std::vector<int> granted;
  for (int next = queue.grant_next(); next >= 0; next = queue.grant_next()) granted.push_back(next);
  return granted;
}

void request_all(LockQueue& queue, const std::vector<bool>& exclusive) {
  for (std::size_t i = 0; i < exclusive.size(); ++i)
    ASSERT_TRUE(queue.request(static_cast<int>(i), exclusive[i]));
}

TEST(LockQueue, ReadersThatFollowEachOtherHoldItTogether) {
  LockQueue queue;
  request_all(queue, {false, false, true, false, false, true});
  EXPECT_EQ(grant_all(queue), (std::vector<int>{0, 1}));
  EXPECT_TRUE(queue.release(0));
  EXPECT_EQ(grant_all(queue), std::vector<int>{});
  EXPECT_TRUE(queue.release(1));
  EXPECT_EQ(grant_all(queue), std::vector<int>{2});
  EXPECT_TRUE(queue.release(2));
  EXPECT_EQ(grant_all(queue), (std::vector<int>{3, 4}));
  EXPECT_TRUE(queue.release(4));
  EXPECT_TRUE(queue.release(3));
  EXPECT_EQ(grant_all(queue), std::vector<int>{5});
}

TEST(LockQueue, RefusesWhatNoRankMayAsk) {
  LockQueue queue;
  EXPECT_FALSE(queue.release(0)) << "not held";
  EXPECT_TRUE(queue.request(0, true));
  EXPECT_FALSE(queue.request(0, true)) << "in the queue";
  EXPECT_EQ(grant_all(queue), std::vector<int>{0});
  EXPECT_FALSE(queue.request(0, false)) << "held";
  EXPECT_TRUE(queue.request(1, false));
  EXPECT_FALSE(queue.release(1)) << "waits yet";
  EXPECT_TRUE(queue.release(0));
}

TEST(LockQueue, NamesTheRanksAheadAndNoMore) {
  LockQueue queue;
  request_all(queue, {true, false, false, true, false, false});
  grant_all(queue);
  EXPECT_EQ(queue.ahead_of(0), std::vector<int>{}) << "holds it";
  EXPECT_EQ(queue.ahead_of(1), std::vector<int>{0});
  EXPECT_EQ(queue.ahead_of(2), std::vector<int>{0}) << "enters together with rank 1";
  EXPECT_EQ(queue.ahead_of(3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(queue.ahead_of(4), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(queue.ahead_of(5), (std::vector<int>{0, 1, 2, 3})) << "enters together with rank 4";
  EXPECT_EQ(queue.ahead_of(6), std::vector<int>{}) << "has not asked";
}

/// Ranks ask and give back at random: a writer is alone, and each rank is overtaken by none.
TEST(LockQueue, StarvesNobody) {
  constexpr int kRanks = 7;
  std::mt19937 random(1);
  LockQueue queue;
  std::vector<int> holders, asked;
  std::vector<bool> exclusive(kRanks);
  for (int step = 0; step < 20'000; ++step) {
    const int rank = static_cast<int>(random() % kRanks);
    if (std::find(holders.begin(), holders.end(), rank) != holders.end()) {
      ASSERT_TRUE(queue.release(rank));
      std::erase(holders, rank);
    } else if (std::find(asked.begin(), asked.end(), rank) == asked.end()) {
      exclusive[static_cast<std::size_t>(rank)] = random() % 3 == 0;
      ASSERT_TRUE(queue.request(rank, exclusive[static_cast<std::size_t>(rank)]));
      asked.push_back(rank);
    }
    for (const int granted : grant_all(queue)) {
      ASSERT_EQ(granted, asked.front());
      asked.erase(asked.begin());
      holders.push_back(granted);
    }
    ASSERT_TRUE(!holders.empty() || asked.empty());
    const auto is_writer = [&](int holder) { return exclusive[static_cast<std::size_t>(holder)]; };
    ASSERT_TRUE(holders.size() < 2 || std::none_of(holders.begin(), holders.end(), is_writer));
  }
}

}  // namespace
}  // namespace tasuki::rma

// LockQueue: which requests hold at the same time, in which order they are served, which ranks are ahead; and
// random requests against an oracle that looks at all pairs. No test with processes sees the order in which
// an owner serves its requests, so the oracle is here.
#include "base/lock_queue.hpp"

#include <gtest/gtest.h>

#include <list>
#include <random>
#include <vector>

namespace tasuki::test {
namespace {

using Request = LockQueue::Request;

constexpr std::uint64_t kFile = 7;

Request request(int rank, Offset begin, Offset end, bool exclusive, std::uint64_t file = kFile) {
  return {.rank = rank, .ticket = 1, .resource = file, .begin = begin, .end = end, .exclusive = exclusive};
}

std::vector<int> ranks_of(const std::vector<Request>& requests) {
  std::vector<int> ranks;
  for (const Request& one : requests) ranks.push_back(one.rank);
  return ranks;
}

TEST(LockQueue, SharedRangesOverlapAndExclusiveOnesDoNot) {
  LockQueue queue;
  EXPECT_TRUE(queue.add(request(0, 0, 100, false)));
  EXPECT_TRUE(queue.add(request(1, 50, 150, false)));
  EXPECT_FALSE(queue.add(request(2, 99, 120, true)));
  EXPECT_TRUE(queue.add(request(3, 150, 160, true))) << "it touches no other";
  EXPECT_TRUE(queue.add(request(4, 0, 200, true, kFile + 1))) << "another file";
  std::vector<Request> granted;
  EXPECT_TRUE(queue.remove(0, 1, &granted));
  EXPECT_TRUE(granted.empty());
  EXPECT_TRUE(queue.remove(1, 1, &granted));
  EXPECT_EQ(ranks_of(granted), (std::vector<int>{2}));
}

TEST(LockQueue, NoRequestPassesOneThatWaits) {
  LockQueue queue;
  EXPECT_TRUE(queue.add(request(0, 0, 100, false)));
  EXPECT_FALSE(queue.add(request(1, 50, 60, true)));
  EXPECT_FALSE(queue.add(request(2, 0, 100, false))) << "else readers could keep a writer out for ever";
  EXPECT_FALSE(queue.add(request(3, 0, 100, false)));
  EXPECT_TRUE(queue.add(request(4, 60, 100, false)));
  std::vector<Request> granted;
  EXPECT_TRUE(queue.remove(0, 1, &granted));
  EXPECT_EQ(ranks_of(granted), (std::vector<int>{1}));
  granted.clear();
  EXPECT_TRUE(queue.remove(1, 1, &granted));
  EXPECT_EQ(ranks_of(granted), (std::vector<int>{2, 3}));
}

TEST(LockQueue, OnlyWhatIsHeldIsReleased) {
  LockQueue queue;
  std::vector<Request> granted;
  EXPECT_FALSE(queue.remove(0, 1, &granted));
  EXPECT_TRUE(queue.add(request(0, 0, 10, true)));
  EXPECT_FALSE(queue.add(request(1, 0, 10, true)));
  EXPECT_FALSE(queue.remove(1, 1, &granted)) << "it waits";
  EXPECT_FALSE(queue.remove(0, 2, &granted)) << "another ticket";
  EXPECT_TRUE(queue.remove(0, 1, &granted));
  EXPECT_FALSE(queue.remove(0, 1, &granted));
  EXPECT_TRUE(queue.remove(1, 1, &granted));
  EXPECT_TRUE(queue.empty());
}

/// Requests of ranks 0, 1, … for all of one resource, as for the lock of a window's part.
LockQueue queue_of(const std::vector<bool>& exclusive) {
  LockQueue queue;
  for (std::size_t i = 0; i < exclusive.size(); ++i)
    queue.add({.rank = static_cast<int>(i), .exclusive = exclusive[i]});
  return queue;
}

std::vector<int> release(LockQueue& queue, int rank) {
  std::vector<Request> granted;
  EXPECT_TRUE(queue.remove(rank, 0, &granted));
  return ranks_of(granted);
}

TEST(LockQueue, ReadersThatFollowEachOtherHoldItTogether) {
  LockQueue queue = queue_of({false, false, true, false, false, true});
  EXPECT_TRUE(queue.find(1, 0)->holds);
  EXPECT_EQ(release(queue, 0), std::vector<int>{});
  EXPECT_EQ(release(queue, 1), std::vector<int>{2});
  EXPECT_EQ(release(queue, 2), (std::vector<int>{3, 4}));
  EXPECT_EQ(release(queue, 4), std::vector<int>{});
  EXPECT_EQ(release(queue, 3), std::vector<int>{5});
  EXPECT_EQ(queue.find(3, 0), nullptr);
}

TEST(LockQueue, NamesTheRanksAheadAndNoMore) {
  const LockQueue queue = queue_of({true, false, false, true, false, false});
  EXPECT_EQ(queue.ahead_of(0, 0), std::vector<int>{}) << "holds it";
  EXPECT_EQ(queue.ahead_of(1, 0), std::vector<int>{0});
  EXPECT_EQ(queue.ahead_of(2, 0), std::vector<int>{0}) << "enters together with rank 1";
  EXPECT_EQ(queue.ahead_of(3, 0), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(queue.ahead_of(4, 0), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(queue.ahead_of(5, 0), (std::vector<int>{0, 1, 2, 3})) << "enters together with rank 4";
  EXPECT_EQ(queue.ahead_of(6, 0), std::vector<int>{}) << "has not asked";
}

TEST(LockQueue, NamesRanksAheadOnlyWhereRangesConflict) {
  LockQueue queue;
  queue.add(request(0, 0, 10, true));
  queue.add(request(1, 20, 30, true));
  queue.add(request(2, 5, 15, true));
  queue.add(request(3, 12, 20, false));
  EXPECT_EQ(queue.ahead_of(3, 1), (std::vector<int>{0, 2})) << "rank 2 waits for rank 0";
}

bool conflict(const Request& a, const Request& b) {
  if (a.resource != b.resource || (!a.exclusive && !b.exclusive)) return false;
  for (Offset at = a.begin; at < a.end; ++at) {
    if (at >= b.begin && at < b.end) return true;
  }
  return false;
}

/// What the queue says after each step: a request holds exactly if nothing before it conflicts.
TEST(LockQueue, AgainstTheOracle) {
  std::mt19937 random(1);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  LockQueue queue;
  std::list<Request> oracle;
  std::uint64_t ticket = 0;
  const auto oracle_holds = [&](const Request& one) {
    for (const Request& before : oracle) {
      if (&before == &one) return true;
      if (conflict(one, before)) return false;
    }
    return true;
  };
  for (int step = 0; step < 5000; ++step) {
    if (oracle.size() < 12 && pick(0, 1) == 0) {
      Request one = request(pick(0, 3), 0, 0, pick(0, 2) == 0, static_cast<std::uint64_t>(pick(1, 2)));
      one.begin = pick(0, 20);
      one.end = one.begin + pick(1, 10);
      one.ticket = ++ticket;
      oracle.push_back(one);
      oracle.back().holds = queue.add(one);
      ASSERT_EQ(oracle.back().holds, oracle_holds(oracle.back())) << "step " << step;
    } else if (!oracle.empty()) {
      auto victim = std::next(oracle.begin(), pick(0, static_cast<int>(oracle.size()) - 1));
      std::vector<Request> granted;
      ASSERT_EQ(queue.remove(victim->rank, victim->ticket, &granted), victim->holds) << "step " << step;
      if (!victim->holds) continue;
      oracle.erase(victim);
      std::size_t next = 0;
      for (Request& one : oracle) {
        if (one.holds || !oracle_holds(one)) continue;
        one.holds = true;
        ASSERT_LT(next, granted.size()) << "step " << step;
        EXPECT_EQ(granted[next++].ticket, one.ticket) << "step " << step;
      }
      ASSERT_EQ(next, granted.size()) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace tasuki::test

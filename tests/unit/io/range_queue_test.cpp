// RangeQueue: who holds what at the same time, in which order requests are served, and against an oracle that
// looks at all pairs.
#include "io/shared/range_queue.hpp"

#include <gtest/gtest.h>

#include <list>
#include <random>
#include <vector>

namespace tasuki::test {
namespace {

using Request = RangeQueue::Request;

constexpr std::uint64_t kFile = 7;

Request request(int rank, Offset begin, Offset end, bool exclusive, std::uint64_t file = kFile) {
  return {.rank = rank, .ticket = 1, .file = file, .range = {begin, end}, .exclusive = exclusive};
}

std::vector<int> ranks_of(const std::vector<Request>& requests) {
  std::vector<int> ranks;
  for (const Request& one : requests) ranks.push_back(one.rank);
  return ranks;
}

TEST(RangeQueue, SharedRangesOverlapAndExclusiveOnesDoNot) {
  RangeQueue queue;
  EXPECT_TRUE(queue.add(request(0, 0, 100, false)));
  EXPECT_TRUE(queue.add(request(1, 50, 150, false)));
  EXPECT_FALSE(queue.add(request(2, 99, 120, true)));
  EXPECT_TRUE(queue.add(request(3, 150, 160, true))) << "it touches nobody's";
  EXPECT_TRUE(queue.add(request(4, 0, 200, true, kFile + 1))) << "another file";
  std::vector<Request> granted;
  EXPECT_TRUE(queue.remove(0, 1, &granted));
  EXPECT_TRUE(granted.empty());
  EXPECT_TRUE(queue.remove(1, 1, &granted));
  EXPECT_EQ(ranks_of(granted), (std::vector<int>{2}));
}

TEST(RangeQueue, NobodyPassesARequestThatWaits) {
  RangeQueue queue;
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

TEST(RangeQueue, OnlyWhatIsHeldIsReleased) {
  RangeQueue queue;
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

bool conflict(const Request& a, const Request& b) {
  if (a.file != b.file || (!a.exclusive && !b.exclusive)) return false;
  for (Offset at = a.range.begin; at < a.range.end; ++at) {
    if (at >= b.range.begin && at < b.range.end) return true;
  }
  return false;
}

/// What the queue says after each step: a request holds exactly if nothing before it conflicts.
TEST(RangeQueue, AgainstTheOracle) {
  std::mt19937 random(1);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  RangeQueue queue;
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
      one.range.begin = pick(0, 20);
      one.range.end = one.range.begin + pick(1, 10);
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

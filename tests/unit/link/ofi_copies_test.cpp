// Shows that memory named by keys is put into and got from over libfabric, whole and nowhere else, with each
// provider that this machine has and in each way of telling the target; that a put is there when its target
// is told, and when it is confirmed; that copies longer than the provider can go in parts; that nobody is
// left asleep; and which way is planned for which provider: a pure function.
#if TASUKI_FABRIC

#include "link/ofi/choice/copying.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/system/clock.hpp"
#include "link/ofi_net.hpp"
#include "memory/symmetric_heap.hpp"
#include "support/sanitized.hpp"
#include "support/small_heap.hpp"

namespace tasuki {
namespace {

using ofi::CopyFacts;
using ofi::CopyPlan;
using ofi::CopyWish;
using ofi::Naming;
using ofi::Tell;
using test::Net;

constexpr std::int64_t kHour = 3'600'000'000'000;  // ns: a lost wake-up hangs the test

// ----- the plan --------------------------------------------------------------------------------------------

// As fi_info says of them.
const CopyFacts kTcp = {"net", true, true, false, 8, SIZE_MAX};
const CopyFacts kShm = {"shm", true, false, false, 8, SIZE_MAX};
const CopyFacts kCxi = {"cxi", true, false, true, 8, 1 << 30};
const CopyFacts kPlainVerbs = {"verbs;ofi_rxm", true, true, true, 0, 1 << 30};
const CopyFacts kPlainEfa = {"efa", true, false, true, 0, 1 << 30};

CopyPlan plan_of(const CopyFacts& facts, const CopyWish& wish = {}) {
  CopyPlan plan;
  std::string error;
  EXPECT_TRUE(plan_copies(facts, wish, &plan, &error)) << error;
  return plan;
}

TEST(CopyPlan, TellsByTheFirstWayThatIsPromised) {
  EXPECT_EQ(plan_of(kTcp).tell, Tell::kData);
  EXPECT_EQ(plan_of(kCxi).tell, Tell::kData);
  EXPECT_EQ(plan_of(kPlainVerbs).tell, Tell::kOrder);
  EXPECT_EQ(plan_of(kPlainEfa).tell, Tell::kDelivery);
  EXPECT_EQ(plan_of(kTcp, {.tell = Tell::kDelivery}).tell, Tell::kDelivery);
  CopyFacts narrow = kPlainEfa;
  narrow.data_bytes = 3;
  EXPECT_EQ(plan_of(narrow).tell, Tell::kDelivery) << "a word has 4 bytes";
}

TEST(CopyPlan, RefusesWhatIsNotPromised) {
  CopyPlan plan;
  std::string error;
  EXPECT_FALSE(plan_copies(kShm, {.tell = Tell::kOrder}, &plan, &error));
  EXPECT_NE(error.find("TASUKI_NET_TELL=order: libfabric's shm does not promise"), std::string::npos)
      << error;
  EXPECT_FALSE(plan_copies(kPlainEfa, {.tell = Tell::kData}, &plan, &error));
  EXPECT_NE(error.find("TASUKI_NET_TELL=data"), std::string::npos) << error;
}

TEST(CopyPlan, RegistersTheHeapOnceWhereThatPinsNothing) {
  EXPECT_EQ(plan_of(kTcp).naming, Naming::kHeap);
  EXPECT_EQ(plan_of(kTcp).register_bytes_min, 0U);
  EXPECT_EQ(plan_of(kCxi).naming, Naming::kEach);
  EXPECT_GE(plan_of(kCxi).register_bytes_min, 1U << 20) << "a short message is not worth it";
  EXPECT_EQ(plan_of(kCxi, {.bytes_min = 1}).register_bytes_min, 0U);
  EXPECT_EQ(plan_of(kTcp, {.naming = Naming::kNone}).register_bytes_min, UINT64_MAX);
}

TEST(CopyPlan, OverSocketsOnlyLongMessagesGoSo) {
  EXPECT_TRUE(plan_of(kTcp).long_only);
  EXPECT_FALSE(plan_of(kTcp, {.bytes_min = 100}).long_only) << "the user asks for copies";
  EXPECT_FALSE(plan_of(kCxi).long_only);
  EXPECT_EQ(plan_of(kTcp).bytes_min, 256U << 10);
  EXPECT_LE(plan_of(kTcp).bytes_max, 4U << 20) << "what else goes to that peer waits behind it";
  EXPECT_LE(plan_of(kCxi).bytes_min, 64U << 10);
  EXPECT_EQ(plan_of(kTcp, {.bytes_min = 100}).bytes_min, 100U);
  EXPECT_EQ(plan_of(kCxi, {.bytes_max = 5000}).bytes_max, 5000U);
  EXPECT_EQ(plan_of(kCxi, {.bytes_max = UINT64_MAX}).bytes_max, 1U << 30) << "more than the provider can";
  EXPECT_FALSE(plan_of({.provider = "udp;ofi_rxd"}).copies);
  for (const CopyFacts& facts : {kTcp, kShm, kCxi, kPlainVerbs, kPlainEfa, CopyFacts{}})
    EXPECT_FALSE(text_of(plan_of(facts)).empty());
}

// ----- copies ----------------------------------------------------------------------------------------------

struct Case {
  const char* name;
  const char* provider;
  Tell tell;
  bool atomics;
  std::uint64_t bytes_max;
};
constexpr Case kCases[] = {
    {"TcpByData", "tcp", Tell::kBest, false, 0},
    {"TcpByOrder", "tcp", Tell::kOrder, false, 0},
    {"TcpByDelivery", "tcp", Tell::kDelivery, false, 0},
    {"TcpInParts", "tcp", Tell::kBest, false, 10'000},
    {"RxmByData", "tcp;ofi_rxm", Tell::kData, false, 0},
    {"RxmByOrderInParts", "tcp;ofi_rxm", Tell::kOrder, false, 10'000},
    {"RxmByDelivery", "tcp;ofi_rxm", Tell::kDelivery, false, 0},
    {"RxmWithAtomics", "tcp;ofi_rxm", Tell::kDelivery, true, 0},
    {"ShmByData", "shm", Tell::kData, false, 0},
    {"ShmByDelivery", "shm", Tell::kDelivery, false, 0},
    {"ShmInParts", "shm", Tell::kBest, false, 10'000},
};

/// What has been told; packets are none of this test's business.
struct Told final : PacketSink {
  void packet(const Packet&) override { ADD_FAILURE() << "no packet has been sent"; }
  void written(std::uint32_t word) override { words.push_back(word); }
  std::vector<std::uint32_t> words;
};

/// Ranks of two nodes that take turns.
class OfiCopies : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (const std::string reason = test::why_skipped(GetParam().provider); !reason.empty())
      GTEST_SKIP() << reason;
    net = std::make_unique<Net>(2, terms());
  }
  static Net::Terms terms() {
    const Case& one = GetParam();
    return {.provider = one.provider,
            .copying = {.bytes_max = one.bytes_max, .tell = one.tell, .atomics = one.atomics}};
  }
  template <class Done>
  bool poll_until(const Done& done) {
    for (const std::int64_t begin_ns = clock_ns(); clock_ns() - begin_ns < 10'000'000'000;) {
      for (const int rank : {0, 1}) (*net)[rank].poll(told[rank]);
      if (done()) return true;
    }
    return false;
  }
  bool is_over(std::uint64_t count) {
    return poll_until([&] { return completed == count; });
  }

  std::unique_ptr<Net> net;
  Told told[2];
  std::uint64_t completed = 0;
};

std::vector<int> ramp(std::size_t count, int first) {
  std::vector<int> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = first + static_cast<int>(i);
  return made;
}

TEST_P(OfiCopies, PutAndGetWhatTheKeyNames) {
  ASSERT_TRUE((*net)[0].can_put(1));
  for (const std::size_t count : {std::size_t{1}, std::size_t{100}, std::size_t{300'000}}) {
    std::vector<int> theirs(count + 2, -1);
    MemoryKey key;
    ASSERT_TRUE((*net)[1].register_memory(0, theirs.data(), theirs.size() * sizeof(int), &key));
    const std::vector<int> sent = ramp(count, 7);
    std::vector<int> got(count + 2, 0);
    completed = 0;
    ASSERT_TRUE((*net)[0].put_memory(1, key, sizeof(int), sent.data(), count * sizeof(int), &completed));
    ASSERT_TRUE(is_over(1));
    EXPECT_TRUE(std::equal(sent.begin(), sent.end(), theirs.begin() + 1)) << "confirmed, and not there";
    EXPECT_TRUE(theirs.front() == -1 && theirs.back() == -1) << "beside what was named";
    ASSERT_TRUE((*net)[0].get_memory(1, key, 0, got.data(), got.size() * sizeof(int), &completed));
    ASSERT_TRUE(is_over(2));
    EXPECT_EQ(got, theirs);
    // What the key does not name is neither read nor written.
    EXPECT_FALSE((*net)[0].put_memory(1, key, 8, sent.data(), theirs.size() * sizeof(int), &completed));
    EXPECT_FALSE((*net)[0].get_memory(1, key, UINT64_MAX, got.data(), 4, &completed));
    EXPECT_FALSE((*net)[0].put_memory(1, {}, 0, sent.data(), 0, &completed));
    EXPECT_EQ(completed, 2U);
    (*net)[1].unregister_memory(0, key);
  }
  EXPECT_TRUE(told[0].words.empty() && told[1].words.empty());
}

TEST_P(OfiCopies, WhatIsToldIsThere) {
  constexpr std::uint32_t kPuts = 40 / (test::kSanitized ? 4 : 1);
  constexpr std::size_t kInts = 30'000;
  std::vector<int> theirs(kPuts * kInts, -1);
  std::vector<int> sent(kPuts * kInts);
  for (std::uint32_t put = 0; put < kPuts; ++put) {
    const std::vector<int> one = ramp(kInts, static_cast<int>(put * 1000));
    std::copy(one.begin(), one.end(), sent.begin() + put * kInts);
  }
  MemoryKey key;
  ASSERT_TRUE((*net)[1].register_memory(0, theirs.data(), theirs.size() * sizeof(int), &key));
  const auto bytes_of = [](std::uint32_t put) { return (put % 3 == 0 ? 1 : kInts) * sizeof(int); };
  for (std::uint32_t put = 0; put < kPuts; ++put) {
    const std::size_t at = put * kInts;
    ASSERT_TRUE((*net)[0].put_and_tell(1, key, at * sizeof(int), sent.data() + at, bytes_of(put),
                                       0xffffff00U + put, &completed));
  }
  std::vector<bool> seen(kPuts, false);
  const auto look = [&] {
    for (const std::uint32_t word : std::exchange(told[1].words, {})) {
      const std::uint32_t put = word - 0xffffff00U;
      ASSERT_LT(put, kPuts);
      ASSERT_FALSE(seen[put]) << "told twice";
      seen[put] = true;
      const std::size_t at = put * kInts;
      EXPECT_EQ(std::memcmp(theirs.data() + at, sent.data() + at, bytes_of(put)), 0) << "put " << put;
    }
  };
  ASSERT_TRUE(poll_until([&] {
    look();
    return completed == kPuts && std::find(seen.begin(), seen.end(), false) == seen.end();
  }));
  (*net)[1].unregister_memory(0, key);
  EXPECT_TRUE(told[0].words.empty());
}

// The owner of the memory sleeps, and so does the other, until something is to be done.
TEST_P(OfiCopies, NobodyIsLeftAsleep) {
  constexpr std::uint32_t kRounds = 100;
  std::vector<int> memory[2] = {ramp(50'000, 1), ramp(50'000, 2)};
  MemoryKey keys[2];
  for (const int rank : {0, 1})
    ASSERT_TRUE(
        (*net)[rank].register_memory(1 - rank, memory[rank].data(), memory[rank].size() * 4, &keys[rank]));
  const auto play = [&](int rank) {
    Link& mine = (*net)[rank];
    Told heard;
    std::vector<int> buffer(50'000);
    std::uint64_t done = 0;
    const auto wait_until = [&](const auto& is_there) {
      while (!is_there()) {
        const std::uint32_t ticket = mine.arm();
        if (mine.poll(heard) == 0 && !is_there()) mine.sleep(ticket, kHour);
        mine.disarm();
      }
    };
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      const std::uint64_t before = done;
      if (rank == 1) wait_until([&] { return heard.words.size() > round; });
      ASSERT_TRUE(mine.put_and_tell(1 - rank, keys[1 - rank], 0, buffer.data(), round % 2 == 0 ? 4 : 200'000,
                                    round, &done));
      if (rank == 0) wait_until([&] { return heard.words.size() > round; });
      wait_until([&] { return done > before; });
    }
    mine.leave();
  };
  std::thread other(play, 1);
  play(0);
  other.join();
}

INSTANTIATE_TEST_SUITE_P(Providers, OfiCopies, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// ----- the heap --------------------------------------------------------------------------------------------

TEST(OfiHeap, IsRegisteredOnceForAllThatLiesInIt) {
  if (const std::string reason = test::why_skipped(); !reason.empty()) GTEST_SKIP() << reason;
  Net net(2);
  std::vector<std::byte> heap(100'000), outside(1000);
  const auto symmetric = test::make_small_heap(0, heap.data(), heap.size());
  net[0].use_heap(*symmetric);
  MemoryKey first, second, third;
  ASSERT_TRUE(net[0].register_memory(1, heap.data() + 100, 50, &first));
  ASSERT_TRUE(net[0].register_memory(1, heap.data() + 5000, 60, &second));
  ASSERT_TRUE(net[0].register_memory(1, outside.data(), 1000, &third));
  EXPECT_EQ(first.access, second.access);
  EXPECT_EQ(second.word - first.word, 4900U);
  EXPECT_NE(first.access, third.access);
  net[0].unregister_memory(1, first);
  // The others are there still.
  const std::byte seven{7};
  Told told;
  for (const MemoryKey& key : {second, third}) {
    std::uint64_t completed = 0;
    ASSERT_TRUE(net[1].put_memory(0, key, 3, &seven, 1, &completed));
    for (const std::int64_t begin_ns = clock_ns();
         completed == 0 && clock_ns() - begin_ns < 10'000'000'000;) {
      for (const int rank : {0, 1}) net[rank].poll(told);
    }
  }
  EXPECT_TRUE(heap[5003] == seven && outside[3] == seven);
}

}  // namespace
}  // namespace tasuki

#endif

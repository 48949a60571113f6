// With more ranks than a rank watches: no packet is lost or waits long, no wake-up is lost, and rings that
// are never used cost no memory.
#include "link/shm/attention.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "link/shm/shm_link.hpp"
#include "node/node.hpp"
#include "support/thread_machine.hpp"

namespace tasuki {
namespace {

constexpr std::int64_t kHour = 3'600'000'000'000;  // ns: a lost wake-up hangs the test

class Many {
 public:
  explicit Many(int size, const Config& config = {.ring_bytes = 4096}) : machine_(size, {}, config) {
    for (int rank = 0; rank < size; ++rank) {
      bells_.push_back(machine_.make_doorbells(rank));
      ends_.push_back(machine_.make_shm_link(rank, *bells_.back()));
    }
  }
  ShmLink& operator[](int rank) { return *ends_[static_cast<std::size_t>(rank)]; }
  std::size_t bytes() const { return machine_.all().bytes; }
  /// Of them, what lies in rings, doorbells and pages of pairs: not the locks of files.
  std::size_t bytes_of_pairs() const {
    const auto ranks = static_cast<std::size_t>(machine_.size());
    return machine_.rings(0).bytes + machine_.bells().bytes + ranks * ranks * kPairPageBytes;
  }
  std::size_t touched_bytes() const {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages((bytes() + page - 1) / page);
    if (mincore(machine_.all().memory, bytes(), pages.data()) != 0) std::abort();
    std::size_t touched = 0;
    for (const unsigned char one : pages) touched += (one & 1) * page;
    return touched;
  }

 private:
  test::ThreadMachine machine_;
  std::vector<std::unique_ptr<Doorbells>> bells_;
  std::vector<std::unique_ptr<ShmLink>> ends_;
};

/// Counts the packets of each source, which are numbered.
class Counter final : public PacketSink {
 public:
  explicit Counter(int sources) : next(static_cast<std::size_t>(sources), 0) {}
  void packet(const Packet& packet) override {
    std::uint64_t number;
    std::memcpy(&number, packet.head, sizeof number);
    ASSERT_EQ(number, next[static_cast<std::size_t>(packet.source)]++) << "from " << packet.source;
    ++total;
  }
  std::vector<std::uint64_t> next;
  std::uint64_t total = 0;
};

// Sources come and go, so that rings are watched, given up and watched again. After each burst a few polls
// find everything: the bits say where it is.
TEST(Attention, BurstsFromEverywhereAreFoundAtOnce) {
  constexpr int kRanks = 150;
  Many net(kRanks);
  Counter counter(kRanks);
  std::vector<std::uint64_t> sent(kRanks, 0);
  std::mt19937 random(1);
  std::uint64_t total = 0;
  for (int burst = 0; burst < 3000; ++burst) {
    const int senders = 1 + static_cast<int>(random() % 30);
    for (int i = 0; i < senders; ++i) {
      const auto from = static_cast<int>(random() % (burst % 7 == 0 ? kRanks : 20));
      total += net[from].put(0, {sent[static_cast<std::size_t>(from)]++, 0}, nullptr, 0) ? 1 : 0;
    }
    for (int poll = 0; poll < 3; ++poll) net[0].poll(counter);
    ASSERT_EQ(counter.total, total) << "burst " << burst;
    for (auto idle = random() % 100; idle-- > 0;) net[0].poll(counter);
  }
}

// More packets in one ring than a poll takes, from sources that are not watched.
TEST(Attention, WhatAPollLeavesIsFoundByTheNext) {
  constexpr int kRanks = 40;
  Many net(kRanks);
  Counter counter(kRanks);
  std::vector<std::uint64_t> sent(kRanks, 0);
  for (int from = 0; from < kRanks; ++from) {
    for (int i = 0; i < 100; ++i)
      ASSERT_TRUE(net[from].put(0, {sent[static_cast<std::size_t>(from)]++, 0}, nullptr, 0));
  }
  for (int poll = 0; poll < 5; ++poll) net[0].poll(counter);
  EXPECT_EQ(counter.total, 100u * kRanks);
}

// A token goes round at random; the ranks that do not have it sleep, with no time-out to speak of.
TEST(Attention, NoLostWakeUpAmongMany) {
  constexpr int kRanks = 24;
  constexpr std::uint64_t kHops = 4000;
  Many net(kRanks);
  struct Token final : PacketSink {
    void packet(const Packet& packet) override {
      std::memcpy(&hops, packet.head, sizeof hops);
      here = true;
    }
    std::uint64_t hops = 0;
    bool here = false;
  };
  const auto play = [&net](int rank) {
    Token token;
    std::mt19937 random(static_cast<unsigned>(rank));
    token.here = rank == 0;
    while (true) {
      while (!token.here) {
        const std::uint32_t ticket = net[rank].arm();
        if (net[rank].poll(token) == 0) net[rank].sleep(ticket, kHour);
        net[rank].disarm();
      }
      token.here = false;
      // At the end each rank hears it once: hops above the limit go round in order.
      const std::uint64_t hops = token.hops + 1;
      if (hops >= kHops + kRanks) return;
      const int to = hops > kHops ? (rank + 1) % kRanks : static_cast<int>(random() % kRanks);
      while (!net[rank].put(to, {hops, 0}, nullptr, 0)) std::this_thread::yield();
      if (hops > kHops) return;
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) threads.emplace_back(play, rank);
  for (std::thread& thread : threads) thread.join();
}

// What docs/design/machine.md says about memory, with the default configuration.
TEST(Attention, MemoryOfRingsIsTouchedByThoseWhoTalk) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const int ranks : {2, 16, 128, 256}) {
    Many net(ranks, {.ring_bytes = 0});
    Counter counter(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      for (int poll = 0; poll < 600; ++poll) net[rank].poll(counter);
    }
    const std::size_t idle = net.touched_bytes();
    for (int rank = 0; rank < ranks; ++rank) {
      ASSERT_TRUE(net[rank].put((rank + 1) % ranks, {0, 0}, nullptr, 0));
    }
    for (int rank = 0; rank < ranks; ++rank) net[rank].poll(counter);
    const std::size_t talking = net.touched_bytes();
    const auto pairs = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks);
    std::printf(
        "%3d ranks: %zu bytes a pair, %zu KiB in all; touched by polling %zu KiB, and by a ring %zu KiB\n",
        ranks, net.bytes() / pairs, net.bytes() >> 10, idle >> 10, (talking - idle) >> 10);
    EXPECT_EQ(counter.total, static_cast<std::uint64_t>(ranks));
    EXPECT_LE(net.bytes_of_pairs() / pairs, std::size_t{ranks <= 16    ? 1040u
                                                        : ranks <= 128 ? 145u
                                                                       : 77u}
                                                << 10);
    const auto per_rank = static_cast<std::size_t>(ranks <= shm::kWatchedMax ? ranks + 1 : 1);
    EXPECT_LE(idle, (per_rank * static_cast<std::size_t>(ranks) + 2) * page) << "polling touched rings";
    EXPECT_LE(talking - idle, 2 * static_cast<std::size_t>(ranks) * page)
        << "more than the pages that were used";
  }
}

}  // namespace
}  // namespace tasuki

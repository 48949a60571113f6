// The contract of link.hpp, on all links: order, no loss, full FIFOs, bulk parts intact, no lost
// wake-up.
#include "link/link.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "link/inproc/inproc_link.hpp"
#include "link/loop/loop_link.hpp"
#include "link/shm/shm_link.hpp"
#include "support/sanitized.hpp"
#include "support/thread_machine.hpp"

namespace tasuki {
namespace {

constexpr std::int64_t kHour = 3'600'000'000'000;  // ns: a lost wake-up hangs the test

enum class Which { kSharedMemory, kInproc, kLoop };

/// A set of connected links in one program.
class Net {
 public:
  Net(Which which, int size)
      : network_(size, 4), machine_(size, nodes_of(which, size), Config{.ring_bytes = 8192}) {
    for (int rank = 0; rank < size; ++rank) {
      bells_.push_back(machine_.make_doorbells(rank));
      if (which == Which::kInproc) {
        ends_.push_back(std::make_unique<InprocLink>(network_, rank));
      } else {
        ends_.push_back(machine_.make_link(rank, *bells_.back(), NetworkModel{}));
      }
      heaps_.push_back(make_common_heap(rank, std::vector<bool>(static_cast<std::size_t>(size), true)));
      ends_.back()->use_heap(*heaps_.back());
    }
  }
  Link& operator[](int rank) { return *ends_[static_cast<std::size_t>(rank)]; }

 private:
  /// Each rank is alone on its node, or all are on one.
  static std::vector<int> nodes_of(Which which, int size) {
    std::vector<int> nodes(static_cast<std::size_t>(size));
    if (which == Which::kLoop) std::iota(nodes.begin(), nodes.end(), 0);
    return nodes;
  }

  InprocNetwork network_;
  test::ThreadMachine machine_;
  std::vector<std::unique_ptr<Doorbells>> bells_;
  std::vector<std::unique_ptr<SymmetricHeap>> heaps_;
  std::vector<std::unique_ptr<Link>> ends_;
};

/// The content of packet `number` from `source`, from byte `first` on: any of it tells whether it is the
/// right one. Compared as a whole: a comparison for each byte is most of the test's time under sanitizers.
const std::byte* content(int source, std::uint32_t number, std::size_t first = 0) {
  static const std::vector<std::byte> ramp = [] {
    std::vector<std::byte> made(256 + (64 << 10));
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<std::byte>(i);
    return made;
  }();
  return ramp.data() + (static_cast<std::size_t>(source) * 31 + number * 7 + first) % 256;
}

std::uint32_t mixed(std::uint32_t number) {
  number *= 2654435761U;
  return number ^ number >> 15;
}

std::uint32_t bulk_bytes_of(std::uint32_t number, std::uint32_t bytes_max) {
  return number % 3 == 0 ? 0 : mixed(number) % (bytes_max + 1);
}

bool try_send(Link& from, int to, std::uint32_t number) {
  PacketRoom room;
  const std::uint32_t bytes = bulk_bytes_of(number, from.bulk_bytes_max());
  if (!from.reserve(to, bytes, &room)) return false;
  std::memcpy(room.head, &number, sizeof number);
  std::memcpy(room.head + sizeof number, content(from.self(), number, sizeof number),
              kHeadBytesMax - sizeof number);
  if (bytes > 0) std::memcpy(room.bulk, content(from.self(), number), bytes);
  from.commit(to, room);
  return true;
}

/// Checks that each source's packets come in order, whole.
class Checker final : public PacketSink {
 public:
  Checker(int sources, std::uint32_t bytes_max)
      : next_(static_cast<std::size_t>(sources), 0), bytes_max_(bytes_max) {}
  void packet(const Packet& packet) override {
    std::uint32_t number;
    std::memcpy(&number, packet.head, sizeof number);
    ASSERT_EQ(number, next_[static_cast<std::size_t>(packet.source)]++);
    ASSERT_EQ(packet.bulk_bytes, bulk_bytes_of(number, bytes_max_));
    ASSERT_EQ(std::memcmp(packet.head + sizeof number, content(packet.source, number, sizeof number),
                          kHeadBytesMax - sizeof number),
              0);
    if (packet.bulk_bytes > 0) {
      ASSERT_EQ(std::memcmp(packet.bulk, content(packet.source, number), packet.bulk_bytes), 0);
    }
    ++total;
  }
  std::uint32_t total = 0;

 private:
  std::vector<std::uint32_t> next_;
  std::uint32_t bytes_max_;
};

class LinkTest : public testing::TestWithParam<Which> {};

TEST_P(LinkTest, ToItself) {
  Net net(GetParam(), 1);
  Checker checker(1, net[0].bulk_bytes_max());
  for (std::uint32_t number = 0; number < 1000; ++number) {
    ASSERT_TRUE(try_send(net[0], 0, number));
    ASSERT_EQ(net[0].poll(checker), 1);
  }
  EXPECT_EQ(net[0].poll(checker), 0);
}

TEST_P(LinkTest, PutsIntoAndGetsFromMemoryNamedByAKey) {
  Net net(GetParam(), 2);
  const bool far = GetParam() == Which::kLoop;
  ASSERT_EQ(net[0].can_put(1), !far) << "each is on a node of its own there";
  const int peer = far ? 0 : 1;
  std::vector<int> theirs(100, 1);
  MemoryKey key;
  ASSERT_TRUE(net[peer].register_memory(0, theirs.data(), theirs.size() * sizeof(int), &key));
  const std::vector<int> sent = {7, 8, 9};
  std::uint64_t completed = 0;
  ASSERT_TRUE(net[0].put_memory(peer, key, 10 * sizeof(int), sent.data(), 3 * sizeof(int), &completed));
  EXPECT_EQ(theirs[9], 1);
  EXPECT_EQ(theirs[10], 7);
  EXPECT_EQ(theirs[12], 9);
  EXPECT_EQ(theirs[13], 1);
  std::vector<int> got(4, 0);
  ASSERT_TRUE(net[0].get_memory(peer, key, 9 * sizeof(int), got.data(), 4 * sizeof(int), &completed));
  EXPECT_EQ(got, (std::vector<int>{1, 7, 8, 9}));
  EXPECT_EQ(completed, 2u);
  // What the key does not name is neither read nor written.
  EXPECT_FALSE(net[0].put_memory(peer, key, 98 * sizeof(int), sent.data(), 3 * sizeof(int), &completed));
  EXPECT_FALSE(net[0].get_memory(peer, key, UINT64_MAX, got.data(), 4, &completed));
  EXPECT_EQ(completed, 2u);
  EXPECT_EQ(theirs[99], 1);
  net[peer].unregister_memory(0, key);
}

TEST(ShmLink, PutsNowhereButIntoTheHeapOfThePeer) {
  test::ThreadMachine machine(2, {}, Config{.ring_bytes = 8192});
  const auto bells = machine.make_doorbells(0);
  const auto link = machine.make_shm_link(0, *bells);
  int memory = 0;
  MemoryKey key;
  EXPECT_FALSE(link->can_put(1)) << "it knows of no heap";
  const auto unreached = make_common_heap(0, {true, false});
  link->use_heap(*unreached);
  ASSERT_TRUE(link->can_put(1));
  ASSERT_TRUE(link->register_memory(0, &memory, sizeof memory, &key));
  std::uint64_t completed = 0;
  const int value = 5;
  EXPECT_FALSE(link->put_memory(1, key, 0, &value, sizeof value, &completed));
  EXPECT_TRUE(link->put_memory(0, key, 0, &value, sizeof value, &completed));
  EXPECT_EQ(memory, 5);
  const auto closed = make_private_heap();
  link->use_heap(*closed);
  EXPECT_FALSE(link->register_memory(0, &memory, sizeof memory, &key));
}

constexpr std::uint32_t kSlower = test::kSanitized ? 4 : 1;

TEST_P(LinkTest, FullFifoRefusesAndRecovers) {
  Net net(GetParam(), 2);
  Checker checker(2, net[0].bulk_bytes_max());
  std::uint32_t sent = 0;
  for (int lap = 0; lap < 48 / static_cast<int>(kSlower); ++lap) {
    while (try_send(net[0], 1, sent)) ++sent;
    ASSERT_GT(sent, checker.total);
    while (net[1].poll(checker) != 0) {
    }
    ASSERT_EQ(checker.total, sent);  // nothing lost, nothing invented
  }
}

TEST_P(LinkTest, ManyToMany) {
  static constexpr int kRanks = 4;
  static constexpr std::uint32_t kPackets = 2000 / kSlower;
  Net net(GetParam(), kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&net, rank] {
      Link& mine = net[rank];
      Checker checker(kRanks, mine.bulk_bytes_max());
      std::vector<std::uint32_t> sent(kRanks, 0);
      while (checker.total < kRanks * kPackets || sent != std::vector<std::uint32_t>(kRanks, kPackets)) {
        bool moved = mine.poll(checker) != 0;
        for (int to = 0; to < kRanks; ++to) {
          auto& number = sent[static_cast<std::size_t>(to)];
          if (number < kPackets && try_send(mine, to, number)) {
            ++number;
            moved = true;
          }
        }
        if (!moved) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Each side sleeps until the other's packet comes, thousands of times. The sleeps have no time-out to speak
// of, so a lost wake-up hangs the test.
TEST_P(LinkTest, NoLostWakeUp) {
  constexpr std::uint32_t kRounds = 5000 / kSlower;
  Net net(GetParam(), 2);
  const auto play = [&net](int rank) {
    Link& mine = net[rank];
    Checker checker(2, mine.bulk_bytes_max());
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      if (rank == 0) {
        while (!try_send(mine, 1, round)) std::this_thread::yield();
      }
      while (checker.total <= round) {
        const std::uint32_t ticket = mine.arm();
        if (mine.poll(checker) == 0) mine.sleep(ticket, kHour);
        mine.disarm();
      }
      if (rank == 1) {
        while (!try_send(mine, 0, round)) std::this_thread::yield();
      }
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
}

// A sender that sleeps because the FIFO is full is woken when the receiver has made room.
TEST_P(LinkTest, RoomWakesTheSender) {
  constexpr std::uint32_t kPackets = 20000 / kSlower;
  Net net(GetParam(), 2);
  std::thread receiver([&net] {
    Checker checker(2, net[1].bulk_bytes_max());
    while (checker.total < kPackets) {
      if (net[1].poll(checker) == 0) std::this_thread::yield();
    }
  });
  Checker nothing(2, net[0].bulk_bytes_max());
  for (std::uint32_t number = 0; number < kPackets;) {
    if (try_send(net[0], 1, number)) {
      ++number;
      continue;
    }
    const std::uint32_t ticket = net[0].arm();
    if (try_send(net[0], 1, number)) {
      ++number;
    } else {
      net[0].sleep(ticket, kHour);
    }
    net[0].disarm();
  }
  receiver.join();
}

TEST_P(LinkTest, RingWakesOwnSleeper) {
  Net net(GetParam(), 1);
  const std::uint32_t ticket = net[0].arm();
  std::thread other([&net] { net[0].ring(); });
  net[0].sleep(ticket, kHour);
  net[0].disarm();
  other.join();
}

// ----- small packets: put() and take_if()
// ---------------------------------------------------------------------

constexpr HeadFilter kAll{{0, 0}, 0};  // of those whose second word is 0

std::uint32_t small_bytes_of(std::uint32_t number) {
  return mixed(number) % (number % 4 == 0 ? kPutBytesMax + 1 : 130);  // one line, two, or many
}

std::span<const std::byte> small_data(int source, std::uint32_t number) {
  return {content(source, number), small_bytes_of(number)};
}

bool try_put(Link& from, int to, std::uint32_t number) {
  const std::span<const std::byte> data = small_data(from.self(), number);
  return from.put(to, {number, 0}, data.data(), static_cast<std::uint32_t>(data.size()));
}

/// Takes small packets from poll().
class SmallChecker final : public PacketSink {
 public:
  void packet(const Packet& packet) override {
    std::uint64_t number;
    std::memcpy(&number, packet.head, sizeof number);
    ASSERT_EQ(number, next);
    ++next;
    const std::span<const std::byte> wanted = small_data(packet.source, static_cast<std::uint32_t>(number));
    ASSERT_EQ(packet.data_bytes, wanted.size());
    ASSERT_EQ(std::memcmp(wanted.data(), packet.head + sizeof(HeadWords), wanted.size()), 0);
  }
  std::uint64_t next = 0;
};

TEST_P(LinkTest, EverySizeOfSmallPacketArrivesWhole) {
  Net net(GetParam(), 1);
  std::vector<std::byte> got(kPutBytesMax + 8);
  for (std::uint32_t bytes = 0; bytes <= kPutBytesMax; ++bytes) {
    const std::byte* const sent = content(0, bytes);
    got.assign(got.size(), std::byte{0xee});
    ASSERT_TRUE(net[0].put(0, {bytes, 5}, sent, bytes));
    SmallPacket taken;
    ASSERT_EQ(net[0].take_if(0, {{bytes, 5}, ~0ULL}, got.data(), bytes, 1, &taken), Found::kTaken);
    ASSERT_EQ(taken.bytes, bytes);
    ASSERT_TRUE(taken.head.first == bytes && taken.head.second == 5);
    ASSERT_EQ(std::memcmp(sent, got.data(), bytes), 0);
    ASSERT_EQ(got[bytes], std::byte{0xee}) << "written behind the end";
  }
}

TEST_P(LinkTest, TakeIfLeavesWhatIsNotMeant) {
  Net net(GetParam(), 2);
  std::vector<std::byte> data(100);
  SmallPacket taken;
  const auto take = [&](const HeadFilter& filter, std::uint64_t capacity) {
    return net[1].take_if(0, filter, data.data(), capacity, 3, &taken);
  };
  EXPECT_EQ(take(kAll, 100), Found::kNothing);
  ASSERT_TRUE(net[0].put(1, {0xab12, 7}, data.data(), 90));
  EXPECT_EQ(take({{0xab12, 8}, ~0ULL}, 100), Found::kOther);
  EXPECT_EQ(take({{0xcb12, 7}, ~0ULL}, 100), Found::kOther);
  EXPECT_EQ(take({{0xab12, 7}, ~0ULL}, 89), Found::kOther);
  EXPECT_EQ(take({{0xcb12, 7}, 0xff}, 90), Found::kTaken);
  PacketRoom room;
  ASSERT_TRUE(net[0].reserve(1, 0, &room));
  std::memset(room.head, 0, kHeadBytesMax);
  net[0].commit(1, room);
  EXPECT_EQ(take(kAll, 100), Found::kOther) << "a packet that put() did not send";
}

// What goes both ways, taken now one way, now the other, by a receiver that is now ahead and now behind.
TEST_P(LinkTest, SmallPacketsKeepTheirOrder) {
  constexpr std::uint32_t kPackets = 20000 / kSlower;
  Net net(GetParam(), 2);
  std::thread sender([&net] {
    for (std::uint32_t number = 0; number < kPackets; ++number) {
      while (!try_put(net[0], 1, number)) std::this_thread::yield();
    }
  });
  SmallChecker checker;
  std::vector<std::byte> data(kPutBytesMax);
  while (checker.next < kPackets) {
    SmallPacket taken;
    if (checker.next % 3 == 0) {
      if (net[1].poll(checker) == 0) std::this_thread::yield();
    } else if (net[1].take_if(0, kAll, data.data(), data.size(), 10, &taken) == Found::kTaken) {
      const std::span<const std::byte> wanted = small_data(0, static_cast<std::uint32_t>(checker.next));
      ASSERT_EQ(taken.head.first, checker.next);
      ASSERT_EQ(taken.bytes, wanted.size());
      ASSERT_EQ(std::memcmp(wanted.data(), data.data(), wanted.size()), 0);
      ++checker.next;
    } else {
      std::this_thread::yield();
    }
  }
  sender.join();
}

std::string name_of(const testing::TestParamInfo<Which>& info) {
  constexpr const char* kNames[] = {"SharedMemory", "Inproc", "Loop"};
  return kNames[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(All, LinkTest, testing::Values(Which::kSharedMemory, Which::kInproc, Which::kLoop),
                         name_of);

// ----- the fence of sleeping ranks -------------------------------------------------------------------------

/// A job of two ranks; whether a rank may register for membarrier is said for each.
class FenceJob {
 public:
  FenceJob(std::uint64_t job, bool first, bool second) : machine_(2, {}, Config{.ring_bytes = 8192}, job) {
    for (const bool fence : {first, second}) {
      const auto rank = static_cast<int>(ranks_.size());
      bells_.push_back(machine_.make_doorbells(rank, fence));
      ranks_.push_back(machine_.make_shm_link(rank, *bells_.back()));
    }
  }
  Doorbells& bells(int rank) { return *bells_[static_cast<std::size_t>(rank)]; }
  Link& operator[](int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

  /// Makes `from` know this job's `rank`.
  int known_to(Link& from, int rank) {
    PeerAddress address;
    std::string error;
    EXPECT_TRUE((*this)[rank].address(&address, &error)) << error;
    const int endpoint = from.join(address, &error);
    EXPECT_GE(endpoint, 0) << error;
    return endpoint;
  }

 private:
  test::ThreadMachine machine_;
  std::vector<std::unique_ptr<Doorbells>> bells_;
  std::vector<std::unique_ptr<Link>> ranks_;
};

/// Whether this kernel has the fence at all.
bool has_fence() {
  shm::Doorbell bell{};
  shm::doorbell_open(bell, true);
  return bell.has_membarrier.load() != 0;
}

TEST(SleepersFence, ReachesOnlyThoseWhoAreRegisteredForIt) {
  if (!has_fence()) GTEST_SKIP() << "this kernel has no membarrier";
  FenceJob job(1, true, false);
  FenceJob both(2, true, true);
  EXPECT_FALSE(job.bells(1).sleeps_with_fence(0)) << "the fence of rank 0 does not reach rank 1";
  EXPECT_FALSE(job.bells(0).sleeps_with_fence(1)) << "rank 1 has none";
  EXPECT_TRUE(both.bells(1).sleeps_with_fence(0));
}

// A rank that has seen that a peer sleeps with a fence goes on without one of its own: it may never be taken
// back.
TEST(SleepersFence, StaysWhenAProcessWithoutItComes) {
  if (!has_fence()) GTEST_SKIP() << "this kernel has no membarrier";
  FenceJob job(1, true, true);
  FenceJob other(2, false, false);
  FenceJob third(3, true, true);
  ASSERT_TRUE(job.bells(0).sleeps_with_fence(1));
  const int seen = job.known_to(other[0], 1);
  EXPECT_FALSE(other.bells(0).sleeps_with_fence(seen));
  EXPECT_TRUE(job.bells(0).sleeps_with_fence(1)) << "a process of another job has taken it back";
  EXPECT_TRUE(third.bells(0).sleeps_with_fence(job.known_to(third[0], 1)));
  other[0].leave();
  third[0].leave();
  EXPECT_FALSE(other.bells(0).sleeps_with_fence(seen));
}

}  // namespace
}  // namespace tasuki

// Shows that packets between virtual nodes are never early, that a link's bandwidth and latency add up as
// loop_link.hpp says, that no rank sleeps past a packet that is on its way, and that what stays on a node
// goes by the link of the machine. (That the contract of link.hpp holds is in link_test.cpp.)
// All times are compared in one direction only: a slow machine makes packets late, never early.
#include "link/loop/loop_link.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "base/system/clock.hpp"
#include "support/scripted_time.hpp"
#include "support/thread_machine.hpp"

namespace tasuki {
namespace {

constexpr std::int64_t kHour = 3'600'000'000'000;  // ns: a rank that sleeps past a packet hangs the test

/// Connected links of ranks on the given nodes.
class Net {
 public:
  Net(const std::vector<int>& nodes, const NetworkModel& model, const Clock& clock = real_clock())
      : machine_(static_cast<int>(nodes.size()), nodes, Config{}) {
    for (int rank = 0; rank < machine_.size(); ++rank) {
      bells_.push_back(machine_.make_doorbells(rank));
      ends_.push_back(machine_.make_loop_link(rank, *bells_.back(), model, clock));
    }
  }
  LoopLink& operator[](int rank) { return *ends_[static_cast<std::size_t>(rank)]; }

 private:
  test::ThreadMachine machine_;
  std::vector<std::unique_ptr<Doorbells>> bells_;
  std::vector<std::unique_ptr<LoopLink>> ends_;
};

/// Notes when each packet came.
class Clocked final : public PacketSink {
 public:
  void packet(const Packet& packet) override {
    times.push_back(clock_ns());
    last_bulk_bytes = packet.bulk_bytes;
  }
  std::vector<std::int64_t> times;
  std::uint32_t last_bulk_bytes = 0;
};

bool try_send(Link& from, int to, std::uint32_t bulk_bytes) {
  PacketRoom room;
  if (!from.reserve(to, bulk_bytes, &room)) return false;
  std::memset(room.head, 0, kHeadBytesMax);
  std::memset(room.bulk, 7, bulk_bytes);
  from.commit(to, room);
  return true;
}

void receive(Link& at, Clocked& sink, std::size_t packets) {
  while (sink.times.size() < packets) {
    if (at.poll(sink) == 0) std::this_thread::yield();
  }
}

TEST(LoopLink, NothingIsEarly) {
  constexpr NetworkModel kModel{.latency_ns = 3'000'000, .mb_per_second = 0};
  Net net({0, 1}, kModel);
  for (int round = 0; round < 5; ++round) {
    Clocked sink;
    const std::int64_t begin_ns = clock_ns();
    ASSERT_TRUE(try_send(net[0], 1, 100));
    receive(net[1], sink, 1);
    EXPECT_GE(sink.times[0] - begin_ns, kModel.latency_ns);
    const std::int64_t put_ns = clock_ns();
    SmallPacket taken;
    std::byte data[8] = {};
    ASSERT_TRUE(net[0].put(1, {0, 0}, data, 8));
    while (net[1].take_if(0, {{0, 0}, 0}, data, 8, 5, &taken) != Found::kTaken) std::this_thread::yield();
    EXPECT_GE(clock_ns() - put_ns, kModel.latency_ns);
  }
}

// Packets of one link follow one another at its bandwidth, however fast they were handed over; a link of
// another pair is free meanwhile, and so is the way back.
TEST(LoopLink, TheLinkIsOccupied) {
  constexpr NetworkModel kModel{.latency_ns = 1'000'000, .mb_per_second = 10};
  constexpr std::uint32_t kBytes = 20'000 - kHeadBytesMax;  // 2 ms each
  constexpr std::int64_t kEachNs = 2'000'000;
  Net net({0, 1}, kModel);
  Clocked sink;
  const std::int64_t begin_ns = clock_ns();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(try_send(net[0], 1, kBytes));
  receive(net[1], sink, 4);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_GE(sink.times[i] - begin_ns, static_cast<std::int64_t>(i + 1) * kEachNs + kModel.latency_ns);
  }
  EXPECT_EQ(sink.last_bulk_bytes, kBytes);
  EXPECT_EQ(kModel.occupied_ns(20'000), kEachNs);
  EXPECT_EQ(NetworkModel{}.occupied_ns(1 << 30), 0);
}

// Ranks 0 and 1 of a node share its link out, ranks 3 and 4 of another theirs in: either takes twice as long
// with two packets, whichever rank sends them, while a link of other nodes is free.
TEST(LoopLink, NodesShareALink) {
  constexpr NetworkModel kModel{.latency_ns = 0, .mb_per_second = 0, .node_mb_per_second = 10};
  constexpr std::uint32_t kBytes = 10'000 - kHeadBytesMax;  // 1 ms each
  constexpr std::int64_t kEachNs = 1'000'000;
  const std::int64_t slot_ns = kModel.node_occupied_ns(loop::kSlotBytes);
  const auto last_due_ns = [&](int first_to, int second_from, int second_to) {
    Net net({0, 0, 1, 2, 2}, kModel);
    const std::int64_t begin_ns = clock_ns();
    EXPECT_TRUE(try_send(net[0], first_to, kBytes) && try_send(net[second_from], second_to, kBytes));
    Clocked first;
    Clocked second;
    receive(net[first_to], first, 1);
    EXPECT_GE(first.times[0] - begin_ns, kEachNs);
    receive(net[second_to], second, 1);
    return second.times[0] - begin_ns;
  };
  EXPECT_GE(last_due_ns(2, 1, 3), 2 * kEachNs - slot_ns);  // one link out
  EXPECT_GE(last_due_ns(3, 2, 4), 2 * kEachNs - slot_ns);  // one link in
  EXPECT_GE(last_due_ns(3, 2, 0), kEachNs);                // none in common
}

/// Nodes' links of 10 MB/s, in a time that goes on when it is told to: a packet of 10,000 bytes takes 1 ms.
struct SlowNodes {
  static constexpr NetworkModel kModel{.latency_ns = 0, .mb_per_second = 0, .node_mb_per_second = 10};
  static constexpr std::uint32_t kBytes = 10'000 - kHeadBytesMax;
  static constexpr std::int64_t kStepNs = 10'000;

  test::ScriptedTime time;
  Net net{{0, 0, 1, 2}, kModel, time};

  /// How many packets of 1 ms `rank` may have under way to rank 2, of another node.
  int fill(int rank) {
    int packets = 0;
    while (try_send(net[rank], 2, kBytes)) ++packets;
    return packets;
  }
  /// When the next packet to `rank` is there, to 10 us.
  std::int64_t arrival_ns(int rank) {
    const std::int64_t begin_ns = time.now_ns();
    Clocked sink;
    while (net[rank].poll(sink) == 0) time.sleep(0, kStepNs);
    return time.now_ns() - begin_ns;
  }
};

// A short packet of another rank of the node goes between the bytes of a long message.
TEST(LoopLink, AShortPacketDoesNotWaitForOthersBytes) {
  SlowNodes slow;
  ASSERT_GT(slow.fill(0), 4);
  ASSERT_TRUE(try_send(slow.net[1], 3, 1000));
  EXPECT_LT(slow.arrival_ns(3), 150'000);
  ASSERT_TRUE(try_send(slow.net[1], 3, SlowNodes::kBytes));
  EXPECT_GT(slow.arrival_ns(3), 1'500'000);
}

// A long message takes the links of its nodes for as long as its window, and then others have their turn. A
// ring that was sized for one in a fast network would hold them up for a tenth of a second.
TEST(LoopLink, AMessageHoldsUpOthersForNoMoreThanItsWindow) {
  SlowNodes slow;
  const int ahead = slow.fill(0);
  EXPECT_LE(ahead, 7);  // 64 KiB
  ASSERT_TRUE(try_send(slow.net[1], 3, SlowNodes::kBytes));
  EXPECT_LE(slow.arrival_ns(3), (ahead + 1) * std::int64_t{1'000'000} + SlowNodes::kStepNs);
}

// What waits for the link into one node keeps nothing from another.
TEST(LoopLink, ABusyNodeHoldsUpNobodyElse) {
  SlowNodes slow;
  slow.fill(3);
  const int ahead = slow.fill(0);  // its link out is free when these have left, the other's in is not
  ASSERT_TRUE(try_send(slow.net[1], 3, SlowNodes::kBytes));
  EXPECT_LE(slow.arrival_ns(3), (ahead + 1) * std::int64_t{1'000'000} + SlowNodes::kStepNs);
}

/// A link in the memory of one process.
struct OneLink {
  std::unique_ptr<loop::NodeAdapterShared> shared = std::make_unique<loop::NodeAdapterShared>();
  loop::NodeAdapter link{shared.get(), 1000};
};

TEST(NodeAdapter, TimeIsTakenOnce) {
  OneLink one;
  EXPECT_EQ(one.link.book(5000, 300), 5300);
  EXPECT_EQ(one.link.book(5000, 700), 6000);      // the rest of the slot
  EXPECT_EQ(one.link.book(5000, 2500), 8500);     // two slots and a half
  EXPECT_EQ(one.link.book(9000, 1000), 10'000);   // booked ahead
  EXPECT_EQ(one.link.book(7000, 1000), 10'500);   // half a slot before that one, and half behind
  EXPECT_EQ(one.link.book(100, 400), 500);        // and long before
  EXPECT_EQ(one.link.book(20'900, 300), 21'200);  // across the end of a slot
  EXPECT_EQ(one.link.book(30'000, 0), 30'000);
}

// Zeroed memory is free at any time: clocks count from the start of a machine, which may be long ago.
TEST(NodeAdapter, TheFirstSlotsAreFreeAtAnyTime) {
  for (const int bits : {0, 30, 31, 32, 33, 39, 40, 41, 50}) {
    for (const std::int64_t slots : {-3, -1, 0, 1}) {
      OneLink one;
      const std::int64_t begin_ns = std::max(std::int64_t{0}, (std::int64_t{1} << bits) + slots) * 1000;
      EXPECT_EQ(one.link.book(begin_ns, 1500), begin_ns + 1500) << bits << " " << slots;
      EXPECT_EQ(one.link.book(begin_ns, 1500), begin_ns + 3000) << bits << " " << slots;
    }
  }
}

// The slots go round: those of an earlier round are free, and a time that is over takes nothing.
TEST(NodeAdapter, SlotsGoRound) {
  OneLink one;
  constexpr auto kRoundNs = std::int64_t{loop::kSlots} * 1000;
  EXPECT_EQ(one.link.book(0, 1000), 1000);
  EXPECT_EQ(one.link.book(kRoundNs, 600), kRoundNs + 600);
  EXPECT_EQ(one.link.book(kRoundNs, 600), kRoundNs + 1200);
  EXPECT_EQ(one.link.book(0, 1000), 3000);  // slots 0 and 1 belong to the later round
}

// All of it full, or nonsense in every slot: booking ends.
TEST(NodeAdapter, BookingEnds) {
  OneLink one;
  one.link.book(0, std::int64_t{loop::kSlots} * 1000);
  EXPECT_GE(one.link.book(0, 500), 500);
  for (const std::uint64_t nonsense :
       {~std::uint64_t{0}, ~std::uint64_t{0} >> 1, std::uint64_t{0xffffffff}}) {
    for (auto& slot : one.shared->slots) slot = nonsense;
    EXPECT_GE(one.link.book(123, 500), 623);
  }
}

// The doorbell rang before the receiver armed: only the packet's own time can end its sleep.
TEST(LoopLink, NobodySleepsPastAPacket) {
  Net net({0, 1}, {.latency_ns = 5'000'000, .mb_per_second = 0});
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(try_send(net[0], 1, 0));
    Clocked sink;
    while (sink.times.empty()) {
      const std::uint32_t ticket = net[1].arm();
      if (net[1].poll(sink) == 0) net[1].sleep(ticket, kHour);
      net[1].disarm();
    }
  }
}

// Two that answer each other, asleep whenever nothing has come.
TEST(LoopLink, NoLostWakeUpWithLatency) {
  constexpr std::size_t kRounds = 300;
  Net net({0, 1}, {.latency_ns = 30'000, .mb_per_second = 1000});
  const auto play = [&net](int rank) {
    Clocked sink;
    for (std::size_t round = 0; round < kRounds; ++round) {
      if (rank == 0) ASSERT_TRUE(try_send(net[rank], 1, 512));
      while (sink.times.size() <= round) {
        const std::uint32_t ticket = net[rank].arm();
        if (net[rank].poll(sink) == 0) net[rank].sleep(ticket, kHour);
        net[rank].disarm();
      }
      if (rank == 1) ASSERT_TRUE(try_send(net[rank], 0, 512));
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
}

TEST(LoopLink, BackPressureEndsWithTheReceiversHelp) {
  Net net({0, 1}, {});
  Clocked sink;
  const std::uint32_t most = net[0].bulk_bytes_max();
  std::size_t sent = 0;
  for (int lap = 0; lap < 20; ++lap) {
    const std::size_t before = sent;
    while (try_send(net[0], 1, most - static_cast<std::uint32_t>(sent % 3) * 64)) ++sent;
    ASSERT_GE(sent - before, 2u) << "a ring that was emptied takes packets again";
    ASSERT_LT(sent - before, 1000u) << "memory is bounded";
    receive(net[1], sink, sent);
  }
}

// Small packets of every size, one after the other and in heaps, arrive whole on either way in.
TEST(LoopLink, SmallPacketsOfEverySize) {
  Net net({0, 1}, {});
  std::vector<std::byte> sent(kPutBytesMax), got(kPutBytesMax + 1);
  for (std::uint32_t lap = 0; lap < 3; ++lap) {
    for (std::uint32_t bytes = 0; bytes <= kPutBytesMax; ++bytes) {
      for (std::uint32_t i = 0; i < bytes; ++i) sent[i] = static_cast<std::byte>(i * 7 + bytes);
      got.assign(got.size(), std::byte{0xee});
      ASSERT_TRUE(net[0].put(1, {bytes, 5}, sent.data(), bytes));
      SmallPacket taken;
      ASSERT_EQ(net[1].take_if(0, {{bytes, 5}, ~0ULL}, got.data(), bytes, 1, &taken), Found::kTaken);
      ASSERT_EQ(taken.bytes, bytes);
      ASSERT_TRUE(std::equal(sent.begin(), sent.begin() + bytes, got.begin()));
      ASSERT_EQ(got[bytes], std::byte{0xee}) << "written behind the end";
    }
  }
}

TEST(LoopLink, PassesANodesPacketsOnAtOnce) {
  Net net({0, 0, 1, 1}, {.latency_ns = kHour, .mb_per_second = 0});
  Clocked sink;
  ASSERT_TRUE(try_send(net[0], 1, 10));  // no latency on a node
  receive(net[1], sink, 1);
  ASSERT_TRUE(try_send(net[0], 0, 10));
  receive(net[0], sink, 2);
}

// More ranks than one word of bits has.
TEST(LoopLink, ManySenders) {
  constexpr int kRanks = 70;
  std::vector<int> nodes(kRanks, 1);
  nodes[3] = 0;
  Net net(nodes, {});
  Clocked sink;
  std::size_t sent = 0;
  for (int rank = kRanks - 1; rank >= 0; --rank) {
    if (rank == 3) continue;
    ASSERT_TRUE(try_send(net[rank], 3, 64));
    ++sent;
  }
  receive(net[3], sink, sent);
  EXPECT_EQ(net[3].poll(sink), 0);
}

}  // namespace
}  // namespace tasuki

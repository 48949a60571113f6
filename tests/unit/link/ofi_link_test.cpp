// Shows that packets over libfabric come in order, once and whole, whatever their sizes; that a peer which
// never polls costs a bounded amount of memory; that nobody is left asleep, and nobody who sleeps computes;
// that strangers and damaged packets do no harm; and that ranks which cannot reach each other say why.
// Ranks are threads or take turns in one; TCP over the loopback interface is the network.
#if TASUKI_FABRIC

#include "link/ofi/ofi_link.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/system/clock.hpp"
#include "link/ofi_net.hpp"

namespace tasuki {
namespace {

constexpr std::int64_t kHour = 3'600'000'000'000;  // ns: a lost wake-up hangs the test

using test::kGuardNs;
using test::kPatient;
using test::kSecret;
using test::Net;
using test::why_skipped;

/// The bytes of packet `number`: any of them tells whether it is the right one.
std::byte content(std::uint32_t number, std::size_t at) {
  return static_cast<std::byte>(number * 7 + at + at / 251);
}

std::uint32_t bulk_bytes_of(std::uint32_t number) {
  switch (number % 4) {
    case 0:
      return 0;
    case 1:
      return number * 37 % 500;
    case 2:
      return OfiLink::kBulkBytesMax - number % 3;
    default:
      return number * 2654435761U % OfiLink::kBulkBytesMax;
  }
}

bool try_send(Link& from, int to, std::uint32_t number, std::uint32_t bytes) {
  PacketRoom room;
  if (!from.reserve(to, bytes, &room)) return false;
  std::memset(room.head, 0, kHeadBytesMax);
  std::memcpy(room.head, &number, sizeof number);
  for (std::uint32_t i = 0; i < bytes; ++i) room.bulk[i] = content(number, i);
  from.commit(to, room);
  return true;
}

/// Every fifth packet is a small one.
bool try_send(Link& from, int to, std::uint32_t number) {
  if (number % 5 != 4) return try_send(from, to, number, bulk_bytes_of(number));
  std::vector<std::byte> data(number * 13 % (kPutBytesMax + 1));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = content(number, i);
  return from.put(to, {number, 5}, data.data(), static_cast<std::uint32_t>(data.size()));
}

/// Checks that each source's packets come in order, whole.
class Checker final : public PacketSink {
 public:
  explicit Checker(int sources) : next(static_cast<std::size_t>(sources), 0) {}
  void packet(const Packet& packet) override {
    std::uint32_t number;
    std::memcpy(&number, packet.head, sizeof number);
    ASSERT_EQ(number, next[static_cast<std::size_t>(packet.source)]++);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(packet.head) % 8, 0U);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(packet.bulk) % 64, 0U);
    const bool small = packet.bulk == nullptr;
    const std::byte* const bytes = small ? packet.head + sizeof(HeadWords) : packet.bulk;
    const std::uint32_t count = small ? packet.data_bytes : packet.bulk_bytes;
    bool whole = true;
    for (std::uint32_t i = 0; i < count; ++i) whole = whole && bytes[i] == content(number, i);
    ASSERT_TRUE(whole) << "packet " << number << " of " << count << " bytes";
    ++total;
  }
  std::uint32_t total = 0;
  std::vector<std::uint32_t> next;  // by source
};

template <class Done>
bool poll_until(Net& net, std::vector<int> ranks, PacketSink& sink, const Done& done,
                std::int64_t limit_ns = kGuardNs) {
  for (const std::int64_t begin_ns = clock_ns(); clock_ns() - begin_ns < limit_ns;) {
    for (const int rank : ranks) net[rank].poll(sink);
    if (done()) return true;
  }
  return false;
}

/// Sends a packet, as soon as the two are connected.
bool send_soon(Net& net, int from, int to, std::uint32_t number, std::uint32_t bytes) {
  struct Nothing final : PacketSink {
    void packet(const Packet&) override { ADD_FAILURE() << "nothing has been sent"; }
  } nothing;
  const std::int64_t begin_ns = clock_ns();
  while (!try_send(net[from], to, number, bytes)) {
    if (clock_ns() - begin_ns > kGuardNs) return false;
    for (const int rank : {from, to}) net[rank].poll(nothing);
  }
  return true;
}

class OfiLinkTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string reason = why_skipped(GetParam()); !reason.empty()) GTEST_SKIP() << reason;
  }
  Net::Terms terms() const { return {.provider = GetParam(), .connect_seconds = kPatient}; }
};

TEST_P(OfiLinkTest, ManyToManyInOrder) {
  static constexpr int kRanks = 3;
  static constexpr std::uint32_t kPackets = 400;
  Net net(kRanks, terms());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&net, rank] {
      OfiLink& mine = net[rank];
      Checker checker(kRanks);
      std::vector<std::uint32_t> sent(kRanks, 0);
      sent[static_cast<std::size_t>(rank)] = kPackets;
      while (checker.total < (kRanks - 1) * kPackets ||
             sent != std::vector<std::uint32_t>(kRanks, kPackets)) {
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
      mine.leave();
      for (int to = 0; to < kRanks; ++to) EXPECT_EQ(mine.unfinished_bytes(to), 0U);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Each side sleeps until the other's packet comes.
TEST_P(OfiLinkTest, NoLostWakeUp) {
  for (const ofi::WaitBy by : {ofi::WaitBy::kBest, ofi::WaitBy::kThread}) {
    constexpr std::uint32_t kRounds = 1000;
    Net net(2, {.provider = GetParam(), .wait_by = by, .connect_seconds = kPatient});
    const auto play = [&net](int rank) {
      OfiLink& mine = net[rank];
      Checker checker(2);
      for (std::uint32_t round = 0; round < kRounds; ++round) {
        if (rank == 0) {
          while (!try_send(mine, 1, round, round % 2 == 0 ? 0 : 30000)) mine.poll(checker);
        }
        while (checker.total <= round) {
          const std::uint32_t ticket = mine.arm();
          if (mine.poll(checker) == 0) mine.sleep(ticket, kHour);
          mine.disarm();
        }
        if (rank == 1) {
          while (!try_send(mine, 0, round, round % 3 == 0 ? 0 : 100)) mine.poll(checker);
        }
      }
      mine.leave();
    };
    std::thread other(play, 1);
    play(0);
    other.join();
  }
}

TEST_P(OfiLinkTest, APeerThatNeverPollsCostsABoundedAmount) {
  Net net(3, {.provider = GetParam()});
  Checker checker(3);
  ASSERT_TRUE(send_soon(net, 0, 1, 0, 100));
  ASSERT_TRUE(poll_until(net, {0, 1}, checker, [&] { return checker.total == 1; }));
  ASSERT_TRUE(send_soon(net, 0, 2, 0, 100));
  std::uint32_t to_sleeper = 1;  // rank 2, which never polls until later
  std::uint32_t refused = 0;
  const std::int64_t begin_ns = clock_ns();
  while (refused < 1000 || clock_ns() - begin_ns < 2'500'000'000) {  // longer than connect_seconds
    if (try_send(net[0], 2, to_sleeper, 60000)) {
      ++to_sleeper;
    } else {
      ++refused;
    }
    net[0].poll(checker);
    ASSERT_LE(net[0].unfinished_bytes(2), OfiLink::kWindowBytesMax + (128 << 10));
    ASSERT_LT(to_sleeper, 100'000U);
  }
  EXPECT_TRUE(net.sentences[0].empty()) << net.sentences[0][0];
  ASSERT_TRUE(try_send(net[0], 1, 1, 60000)) << "a peer that polls has room of its own";
  ASSERT_TRUE(poll_until(net, {0, 1}, checker, [&] { return checker.total == 2; }));
  // Nothing is lost once it polls.
  Checker late(3);
  ASSERT_TRUE(poll_until(net, {0, 2}, late, [&] { return late.total == to_sleeper; }));
}

TEST_P(OfiLinkTest, SmallPacketsOfEverySize) {
  Net net(2, terms());
  Checker checker(2);
  std::vector<std::byte> data(kPutBytesMax);
  ASSERT_TRUE(send_soon(net, 0, 1, 0, 0));
  ASSERT_TRUE(poll_until(net, {0, 1}, checker, [&] { return checker.total == 1; }));
  for (std::uint32_t bytes = 0; bytes <= kPutBytesMax; bytes += bytes < 300 ? 1 : 89) {
    for (std::uint32_t i = 0; i < bytes; ++i) data[i] = content(checker.total, i);
    const std::uint32_t before = checker.total;
    ASSERT_TRUE(net[0].put(1, {before, 5}, data.data(), bytes));
    ASSERT_TRUE(poll_until(net, {0, 1}, checker, [&] { return checker.total == before + 1; }));
  }
}

// Of many small packets in a row most go in bundles, which keep their order among others; what waits for more
// goes also where its rank never polls.
TEST_P(OfiLinkTest, SmallPacketsInARow) {
  Net net(2, terms());
  Checker checker(2);
  std::vector<std::byte> data(kPutBytesMax);
  ASSERT_TRUE(send_soon(net, 0, 1, 0, 0));
  ASSERT_TRUE(poll_until(net, {0, 1}, checker, [&] { return checker.total == 1; }));
  std::uint32_t number = 1;
  const auto send = [&](std::uint32_t bytes) {
    for (std::uint32_t i = 0; i < bytes; ++i) data[i] = content(number, i);
    ASSERT_TRUE(net[0].put(1, {number, 5}, data.data(), bytes));
    ++number;
  };
  for (int round = 0; round < 20; ++round) {
    for (std::uint32_t i = 0; i < 200; ++i) send(i % 17 == 0 ? 300 : i % 13 == 0 ? 256 : i % 9);
    ASSERT_TRUE(try_send(net[0], 1, number, 1000));
    ++number;
    for (std::uint32_t i = 0; i < 5; ++i) send(8);
    ASSERT_TRUE(poll_until(net, {1}, checker, [&] { return checker.total == number; })) << "rank 0 computes";
    net[0].poll(checker);
  }
}

// Nothing is taken before the secret is known, where the peer is, and a connection to it.
TEST_P(OfiLinkTest, ThereIsNoRoomBeforeTheWireUpIsThere) {
  Net net(2, terms());
  net.secret_is_known = false;
  const std::string card = std::exchange(net.cards[1], "");
  Checker checker(2);
  const auto connects = [&](std::int64_t limit_ns) {
    return poll_until(
        net, {0, 1}, checker, [&] { return try_send(net[0], 1, 0, 70); }, limit_ns);
  };
  EXPECT_FALSE(connects(50'000'000));
  net.secret_is_known = true;
  EXPECT_FALSE(connects(50'000'000));
  net.cards[1] = card;
  EXPECT_FALSE(try_send(net[0], 1, 0, 70));
  EXPECT_TRUE(connects(kGuardNs));
  EXPECT_TRUE(poll_until(net, {0, 1}, checker, [&] { return checker.total == 1; }));
  EXPECT_TRUE(poll_until(net, {0, 1}, checker, [&] { return net[0].has_left(1); }));
}

// Memory that a bulk is sent from is read until all has left, and no longer.
TEST_P(OfiLinkTest, BulksAreLent) {
  Net net(2, terms());
  Checker checker(2);
  std::vector<std::byte> memory(OfiLink::kBulkBytesMax);
  for (std::uint32_t number = 0; number < 8; ++number) {
    const std::uint32_t bytes = OfiLink::kBulkBytesMax - number;
    for (std::uint32_t i = 0; i < bytes; ++i) memory[i] = content(number, i);
    PacketRoom room;
    ASSERT_TRUE(poll_until(net, {0, 1}, checker, [&] { return net[0].reserve(1, bytes, &room); }));
    std::memset(room.head, 0, kHeadBytesMax);
    std::memcpy(room.head, &number, sizeof number);
    room.bulk = memory.data();
    net[0].commit(1, room);
    ASSERT_TRUE(poll_until(net, {0, 1}, checker, [&] { return net[0].has_left(1); }));
    std::fill(memory.begin(), memory.end(), std::byte{0});
    ASSERT_TRUE(poll_until(net, {0, 1}, checker, [&] { return checker.total == number + 1; }));
  }
}

TEST_P(OfiLinkTest, RanksOfTheNodeGoByItsLink) {
  Net net(3, {.provider = GetParam(), .nodes = {0, 0, 1}, .connect_seconds = kPatient});
  Checker checker(3);
  ASSERT_TRUE(try_send(net[0], 1, 0));
  EXPECT_EQ(net[1].poll(checker), 1);  // memory: at once
  ASSERT_TRUE(send_soon(net, 2, 1, 0, 0));
  EXPECT_TRUE(poll_until(net, {1, 2}, checker, [&] { return checker.total == 2; }));
  ASSERT_TRUE(try_send(net[1], 1, 0));
  EXPECT_TRUE(poll_until(net, {1}, checker, [&] { return checker.total == 3; }));
}

// What is sent just before a rank leaves arrives; and it may come back.
TEST_P(OfiLinkTest, LeavingLosesNothing) {
  for (int round = 0; round < 5; ++round) {
    Net net(2, terms());
    std::thread receiver([&net] {
      Checker checker(2);
      while (checker.total < 20) net[1].poll(checker);
      net[1].leave();
    });
    Checker nothing(2);
    for (std::uint32_t number = 0; number < 10;) {
      if (try_send(net[0], 1, number)) ++number;
      net[0].poll(nothing);
    }
    net[0].leave();
    for (std::uint32_t number = 10; number < 20;) {
      if (try_send(net[0], 1, number)) ++number;
      net[0].poll(nothing);
    }
    net[0].leave();
    receiver.join();
    EXPECT_TRUE(net.sentences[0].empty() && net.sentences[1].empty());
  }
}

// The other provider makes no difference to our threads, and takes half a minute to watch them.
#ifdef __SANITIZE_THREAD__
constexpr int kProviders = 1;
#else
constexpr int kProviders = 2;
#endif
constexpr const char* kProviderNames[] = {"tcp", "tcp;ofi_rxm"};
INSTANTIATE_TEST_SUITE_P(Providers, OfiLinkTest,
                         testing::ValuesIn(kProviderNames, kProviderNames + kProviders),
                         [](const auto& info) { return info.index == 0 ? "Tcp" : "TcpRxm"; });

class OverTcp : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = why_skipped(); !reason.empty()) GTEST_SKIP() << reason;
  }
};

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST_F(OverTcp, ARankThatSleepsUsesNoProcessor) {
  for (const ofi::WaitBy by : {ofi::WaitBy::kBest, ofi::WaitBy::kThread}) {
    Net net(2, {.wait_by = by});
    Checker checker(2);
    ASSERT_TRUE(send_soon(net, 0, 1, 0, 0));
    ASSERT_TRUE(poll_until(net, {0, 1}, checker, [&] { return checker.total == 1; }));
    ASSERT_TRUE(send_soon(net, 1, 0, 0, 0));
    ASSERT_TRUE(poll_until(net, {0, 1}, checker, [&] { return checker.total == 2; }));
    const double before = processor_seconds();
    int sleeps = 0;
    for (const std::int64_t begin_ns = clock_ns(); clock_ns() - begin_ns < 2'000'000'000; ++sleeps) {
      const std::uint32_t ticket = net[0].arm();
      if (net[0].poll(checker) == 0) net[0].sleep(ticket, 50'000'000);
      net[0].disarm();
    }
    EXPECT_LT(processor_seconds() - before, 0.2);
    EXPECT_LT(sleeps, 200);
  }
}

// A doorbell, another thread of the rank, and a packet each wake it.
TEST_F(OverTcp, EitherWakes) {
  for (const ofi::WaitBy by : {ofi::WaitBy::kBest, ofi::WaitBy::kThread}) {
    Net net(3, {.wait_by = by, .nodes = {0, 0, 1}, .connect_seconds = kPatient});
    Checker checker(3);
    for (const int other : {1, 2, 0}) {
      std::thread waker([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        if (other == 0) return net[0].ring();
        Checker nothing(3);
        while (!try_send(net[other], 0, 0)) net[other].poll(nothing);
        net[other].leave();
      });
      for (const std::uint32_t before = checker.total;;) {
        const std::uint32_t ticket = net[0].arm();
        const bool rung = net[0].poll(checker) == 0 && net[0].sleep(ticket, kHour) && other == 0;
        net[0].disarm();
        if (rung || checker.total != before) break;
      }
      while (other == 2 && net[0].unfinished_bytes(2) != 0) net[0].poll(checker);
      waker.join();
    }
  }
}

/// An endpoint that belongs to no rank.
class Stranger {
 public:
  explicit Stranger(const std::string& card) {
    std::string error;
    fabric_ = OfiLink::open("", {.one_machine = true}, &error);
    ofi::Card told;
    EXPECT_TRUE(ofi::from_text(card, &told));
    peer_ = fabric_->insert(told.name);
  }
  /// Sends `bytes` bytes that begin with `frame`, then ones; the receiver has to be polled meanwhile.
  template <class Poll>
  void send(const ofi::Frame& frame, std::size_t bytes, const Poll& poll) {
    ofi::Buffer* const buffer = fabric_->take(ofi::kBulkAt + OfiLink::kBulkBytesMax);
    std::memset(buffer->memory + ofi::kFrameAt, 1, bytes);
    std::memcpy(buffer->memory + ofi::kFrameAt, &frame, sizeof frame);
    buffer->length = static_cast<std::uint32_t>(bytes);
    buffer->peer = 0;
    ofi::Completion done[4];
    while (fabric_->send(peer_, buffer) != 0) {
      fabric_->read(done);
      poll();
    }
    while (fabric_->read(done) == 0) poll();
  }

 private:
  std::unique_ptr<ofi::Fabric> fabric_;
  fi_addr_t peer_ = FI_ADDR_NOTAVAIL;
};

TEST_F(OverTcp, AStrangersPacketsAreDroppedAndCounted) {
  Net net(2);
  Checker checker(2);
  Stranger stranger(net.cards[0]);
  const auto poll = [&] { net[0].poll(checker); };
  const ofi::Secret wrong = {{kSecret.words[0], kSecret.words[1] + 1}};
  testing::internal::CaptureStderr();
  stranger.send({wrong, 1, 0, ofi::FrameKind::kPacket, 0}, 88, poll);
  stranger.send({{}, 1, 0, ofi::FrameKind::kPacket, 4096}, 88 + 4096, poll);
  stranger.send({kSecret, 1, 0, ofi::FrameKind::kPacket, 0}, 3, poll);  // its first bytes alone
  EXPECT_TRUE(poll_until(net, {0}, checker, [&] { return net[0].strangers() == 3; }));
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
  EXPECT_NE(told.find("no rank of this job has sent"), std::string::npos) << told;
  EXPECT_EQ(checker.total, 0U);
  ASSERT_TRUE(send_soon(net, 1, 0, 0, 0));
  EXPECT_TRUE(poll_until(net, {0, 1}, checker, [&] { return checker.total == 1; })) << "it goes on";
  EXPECT_TRUE(net.sentences[0].empty());
}

// Bytes that are no language of libfabric's at all.
TEST_F(OverTcp, GarbageOnTheWireDisturbsNobody) {
  Net net(2);
  Checker checker(2);
  ofi::Card card;
  ASSERT_TRUE(ofi::from_text(net.cards[0], &card));
  std::vector<int> sockets;
  for (int i = 0; i < 20; ++i) {
    sockets.push_back(socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(connect(sockets.back(), reinterpret_cast<const sockaddr*>(card.name.data()),
                      static_cast<socklen_t>(card.name.size())),
              0);
    const std::string garbage(static_cast<std::size_t>(i * 100), static_cast<char>(i * 31));
    EXPECT_EQ(write(sockets.back(), garbage.data(), garbage.size()), static_cast<ssize_t>(garbage.size()));
    net[0].poll(checker);
  }
  ASSERT_TRUE(send_soon(net, 1, 0, 0, 0));
  EXPECT_TRUE(poll_until(net, {0, 1}, checker, [&] { return checker.total == 1; }));
  for (const int one : sockets) close(one);
  ASSERT_TRUE(try_send(net[1], 0, 1));
  EXPECT_TRUE(poll_until(net, {0, 1}, checker, [&] { return checker.total == 2; }));
}

TEST_F(OverTcp, DamagedPacketsAreToldOf) {
  const struct {
    ofi::Frame frame;
    std::size_t bytes;
    const char* told;
  } cases[] = {
      {{kSecret, 1, 0, ofi::FrameKind::kPacket, 100}, 88, "its length or its kind"},
      {{kSecret, 1, 0, ofi::FrameKind::kSmall, kPutBytesMax + 1}, 48 + kPutBytesMax + 1, "its length"},
      {{kSecret, 7, 0, ofi::FrameKind::kPacket, 0}, 88, "rank 7"},
      {{kSecret, 0, 0, ofi::FrameKind::kPacket, 0}, 88, "that rank is on this node"},
      {{kSecret, 1, 0, static_cast<ofi::FrameKind>(99), 0}, 32, "its kind"},
      {{kSecret, 1, UINT32_MAX, ofi::FrameKind::kPacket, 0}, 88, "its number"},
      {{kSecret, 1, 0, ofi::FrameKind::kTell, 16}, 48, "more has come than was sent"},
      {{kSecret, 1, 0, ofi::FrameKind::kBundle, 16}, 48, "a packet in it ends behind its end"},
      {{kSecret, 1, 0, ofi::FrameKind::kBundle, 3000}, 3032, "its length"},
  };
  for (const auto& [frame, bytes, told] : cases) {
    Net net(2);
    Checker checker(2);
    Stranger stranger(net.cards[0]);
    stranger.send(frame, bytes, [&] { net[0].poll(checker); });
    EXPECT_TRUE(poll_until(net, {0}, checker, [&] { return !net.sentences[0].empty(); })) << told;
    ASSERT_EQ(net.sentences[0].size(), 1U);
    EXPECT_NE(net.sentences[0][0].find(told), std::string::npos) << net.sentences[0][0];
    EXPECT_EQ(checker.total, 0U);
  }
}

/// What rank 0 says when its first packet goes to a rank with that card.
std::string said_of(Net& net, const std::string& card) {
  net.cards[1] = card;
  Checker checker(2);
  EXPECT_FALSE(try_send(net[0], 1, 0));
  EXPECT_TRUE(poll_until(net, {0}, checker, [&] { return !net.sentences[0].empty(); }));
  return net.sentences[0].empty() ? "" : net.sentences[0][0];
}

TEST_F(OverTcp, ProvidersThatDoNotFitAreRefusedByName) {
  Net net(2);
  ofi::Card card;
  ASSERT_TRUE(ofi::from_text(net.cards[1], &card));
  card.provider = "verbs;ofi_rxm";
  card.host = "node7";
  const std::string said = said_of(net, ofi::to_text(card));
  for (const char* part : {"rank 0 on here", "rank 1 on node7", "verbs;ofi_rxm", "TASUKI_NET_PROVIDER"})
    EXPECT_NE(said.find(part), std::string::npos) << said;
  Net other(2);
  card.provider = "net";
  card.version = "9.9";
  EXPECT_NE(said_of(other, ofi::to_text(card)).find("9.9"), std::string::npos);
  Net third(2);
  EXPECT_NE(said_of(third, "what is this").find("cannot be read"), std::string::npos);
}

/// A socket at an address of the loopback interface, and a card that names it.
struct Place {
  Place(const std::string& like, int backlog) {
    EXPECT_TRUE(ofi::from_text(like, &card));
    sockaddr_in address{};
    socklen_t bytes = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(one, reinterpret_cast<sockaddr*>(&address), bytes), 0);
    if (backlog >= 0) listen(one, backlog);
    EXPECT_EQ(getsockname(one, reinterpret_cast<sockaddr*>(&address), &bytes), 0);
    card.name.assign(reinterpret_cast<const char*>(&address), sizeof address);
    card.host = "node9";
  }
  ~Place() {
    close(one);
    for (const int caller : callers) close(caller);
  }
  /// Has the system answer no connection any more, as behind a firewall.
  void fill() {
    for (int i = 0; i < 4; ++i) {
      callers.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
      connect(callers.back(), reinterpret_cast<const sockaddr*>(card.name.data()),
              static_cast<socklen_t>(card.name.size()));
    }
  }

  ofi::Card card;
  int one = socket(AF_INET, SOCK_STREAM, 0);
  std::vector<int> callers;
};

TEST_F(OverTcp, ARankThatCannotBeReachedIsNamed) {
  Net net(2);
  Place closed(net.cards[1], -1);
  const std::string refused = said_of(net, ofi::to_text(closed.card));
  for (const char* part : {"rank 0 on here (interface lo, address 127.0.0.1:", "cannot reach rank 1 on node9",
                           "Connection refused", "firewall", "TASUKI_NET_INTERFACE"})
    EXPECT_NE(refused.find(part), std::string::npos) << refused;
  EXPECT_EQ(refused.find("(for "), std::string::npos)
      << refused;  // its system has said so, and nothing is waited for
  Net other(2);
  Place silent(other.cards[1], 0);
  silent.fill();
  const std::string dropped = said_of(other, ofi::to_text(silent.card));
  EXPECT_NE(dropped.find("no answer to a connection"), std::string::npos) << dropped;
}

/// Ends all connections, as firewalls do.
void end_connections() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::atoi(entry.path().filename().c_str());
    sockaddr_storage address{};
    socklen_t bytes = sizeof address;
    const bool is_connected = getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes) == 0;
    if (is_connected && address.ss_family == AF_INET) shutdown(descriptor, SHUT_RDWR);
  }
}

// libfabric says nothing of it: neither to the rank that sends nor to the one that waits.
TEST_F(OverTcp, PacketsThatWereLostAreSentAgain) {
  Net net(2);
  Checker checker(2);
  ASSERT_TRUE(send_soon(net, 0, 1, 0, 0));
  ASSERT_TRUE(poll_until(net, {0, 1}, checker, [&] { return checker.total == 1; }));
  for (std::uint32_t number = 1; number < 4; ++number) {
    end_connections();
    ASSERT_TRUE(net[0].put(1, {number, 5}, nullptr, 0));
    EXPECT_TRUE(poll_until(net, {0, 1}, checker, [&] { return checker.total == number + 1; })) << number;
  }
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(net.sentences[static_cast<std::size_t>(rank)].size(), 0U);
  std::vector<PairCounts> counts[2];
  for (int rank = 0; rank < 2; ++rank) net[rank].add_pair_counts(&counts[rank]);
  ASSERT_EQ(counts[0].size(), 1U);
  ASSERT_EQ(counts[1].size(), 1U);
  EXPECT_EQ(counts[0][0].sent, 4U);
  EXPECT_EQ(counts[1][0].come, 4U);
}

// More than is kept, and too large to be kept: the job ends, with a sentence of either rank.
TEST_F(OverTcp, PacketsThatAreLostForGoodEndTheJob) {
  Net net(2);
  Checker checker(2);
  ASSERT_TRUE(send_soon(net, 0, 1, 0, 0));
  ASSERT_TRUE(poll_until(net, {0, 1}, checker, [&] { return checker.total == 1; }));
  end_connections();
  for (std::uint32_t number = 1; number < 3; ++number) ASSERT_TRUE(try_send(net[0], 1, number, 500));
  const auto& said = net.sentences;
  ASSERT_TRUE(poll_until(net, {0, 1}, checker,
                         [&] { return checker.total == 3 || !said[0].empty() || !said[1].empty(); }));
  if (checker.total == 3) return;  // libfabric has noticed in time
  const std::string& sentence = said[0].empty() ? said[1][0] : said[0][0];
  EXPECT_NE(sentence.find("rank 1 on here (interface lo, address 127.0.0.1:"), std::string::npos) << sentence;
}

/// What rank 0 says when its job starts; empty: all can be reached.
std::string said_at_the_start(Net& net, std::vector<int> ranks) {
  const std::int64_t end_ns = clock_ns() + kGuardNs;
  for (bool all = false; !all && net.sentences[0].empty() && clock_ns() < end_ns;) {
    all = true;
    for (const int rank : ranks) all = net[rank].has_tried_network() && all;
  }
  EXPECT_LT(clock_ns(), end_ns);
  EXPECT_LE(net.sentences[0].size(), 1U);
  return net.sentences[0].empty() ? "" : net.sentences[0][0];
}

TEST_F(OverTcp, TheNetworkIsTriedWhenTheJobStarts) {
  Net all(4);
  EXPECT_EQ(said_at_the_start(all, {0, 1, 2, 3}), "");
  Net beside(4, {.nodes = {0, 0, 1, 1}});
  Place away(beside.cards[3], -1);
  beside.cards[3] = ofi::to_text(away.card);
  EXPECT_EQ(said_at_the_start(beside, {0, 1, 2, 3}), "") << "one rank of a node stands for it";

  Net refusing(3);
  Place closed(refusing.cards[2], -1);
  refusing.cards[2] = ofi::to_text(closed.card);
  const std::string refused = said_at_the_start(refusing, {0});
  for (const char* part :
       {"MPI_Init: a connection from rank 0 on here (interface lo, address 127.0.0.1:", "to rank 2 on node9",
        "does not come about: Connection refused;", "firewall", "TASUKI_NET_INTERFACE"})
    EXPECT_NE(refused.find(part), std::string::npos) << refused;

  Net dropping(2);
  Place silent(dropping.cards[1], 0);
  silent.fill();
  dropping.cards[1] = ofi::to_text(silent.card);
  const std::string dropped = said_at_the_start(dropping, {0});
  EXPECT_NE(dropped.find("to rank 1 on node9"), std::string::npos) << dropped;
  EXPECT_NE(dropped.find("no answer within 500 ms;"), std::string::npos) << dropped;
}

// Libraries that come with providers take signals; the program's handling of them stays. (Others than these
// two are a sanitizer's.)
TEST_F(OverTcp, SignalsAreHandledAsBefore) {
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction now {};
    ASSERT_EQ(sigaction(number, nullptr, &now), 0);
    EXPECT_EQ(now.sa_handler, SIG_DFL) << number;
  }
}

// A process that was killed leaves its endpoint's memory behind, and another one may get its id. The file has
// that id in it, so one of this process stands for it here, under the name that would come next.
TEST(Fabric, TakesAnotherNameWhereAKilledProcessHasLeftItsOwn) {
  std::string error;
  const ofi::Wish wish{.provider = "shm", .one_machine = true};
  const std::unique_ptr<ofi::Fabric> before = OfiLink::open("", wish, &error);
  ASSERT_NE(before, nullptr) << error;
  const std::filesystem::path room = "/dev/shm";
  const std::string own = std::to_string(getpid()) + ":" + std::to_string(getuid()) + ":";
  int number = 0;
  while (!std::filesystem::exists(room / (own + std::to_string(number)))) ASSERT_LT(++number, 100);
  const std::filesystem::path left = room / (own + std::to_string(number + 1));
  std::filesystem::copy_file(room / (own + std::to_string(number)), left);
  const std::unique_ptr<ofi::Fabric> made = OfiLink::open("", wish, &error);
  std::filesystem::remove(left);
  ASSERT_NE(made, nullptr) << error;
}

std::atomic<int> signals_taken = 0;  // by the program's handler

// Amid that, too: a library's own handler would write a backtrace and end the program.
TEST(Fabric, SignalsThatComeWhileItOpensAreTheProgramsOwn) {
  struct sigaction own {};
  own.sa_handler = [](int) { signals_taken.fetch_add(1); };
  ASSERT_EQ(sigaction(SIGTERM, &own, nullptr), 0);
  const pthread_t opening = pthread_self();
  std::atomic<bool> open = false;
  std::thread sender([&] {
    for (; !open; std::this_thread::sleep_for(std::chrono::milliseconds(1))) pthread_kill(opening, SIGTERM);
  });
  std::string error;
  OfiLink::open("", {.one_machine = true}, &error);
  for (int look = 0; look < 5000 && signals_taken.load() == 0; ++look)  // opened before the first was sent
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  open = true;
  sender.join();
  EXPECT_GT(signals_taken.load(), 0);
  signal(SIGTERM, SIG_DFL);
}

}  // namespace
}  // namespace tasuki

#endif

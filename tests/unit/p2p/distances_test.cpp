// The distance of two processes by where they may run, on machines that are files; the tables of the
// protocols by distance; and that messages between ranks go by the table of their distance.
#include "p2p/distances.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "node/node.hpp"
#include "p2p/large_support.hpp"
#include "protocol/choose.hpp"

namespace tasuki {
namespace {

namespace fs = std::filesystem;

/// Files like those of /sys/devices/system, of 8 processors.
class FakeMachine {
 public:
  FakeMachine() {
    std::string pattern = (fs::temp_directory_path() / "tasuki_distXXXXXX").string();
    root_ = mkdtemp(pattern.data());
    write("cpu/online", "0-7");
  }
  ~FakeMachine() { fs::remove_all(root_); }
  const std::string& root() const { return root_; }

  /// The processors of `list` make up a socket; or share a cache.
  void package(std::initializer_list<int> processors, const char* list) {
    for (const int cpu : processors) write(directory(cpu) + "topology/package_cpus_list", list);
  }
  void cache(int level, std::initializer_list<int> processors, const char* list) {
    for (const int cpu : processors) {
      const std::string place = directory(cpu) + "cache/index" + std::to_string(level) + "/";
      write(place + "level", std::to_string(level));
      write(place + "type", "Unified");
      write(place + "shared_cpu_list", list);
    }
  }

  /// Each processor has caches of its own up to the second level.
  void small_caches() {
    for (int cpu = 0; cpu < 8; ++cpu) {
      for (const int level : {0, 1, 2}) cache(level, {cpu}, std::to_string(cpu).c_str());
    }
  }

  Distance distance(const Processors& one, const Processors& other) const {
    return hardware_surroundings(one, root_).distance_to(other);
  }

 private:
  static std::string directory(int cpu) { return "cpu/cpu" + std::to_string(cpu) + "/"; }
  void write(const std::string& name, const std::string& text) {
    const fs::path path = fs::path(root_) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  std::string root_;
};

/// Two sockets of two caches of two processors each, numbered as hardware threads often are: in turn.
void make_two_sockets(FakeMachine& machine) {
  machine.package({0, 2, 4, 6}, "0,2,4,6");
  machine.package({1, 3, 5, 7}, "1,3,5,7");
  machine.small_caches();
  machine.cache(3, {0, 2}, "0,2");
  machine.cache(3, {4, 6}, "4,6");
  machine.cache(3, {1, 3}, "1,3");
  machine.cache(3, {5, 7}, "5,7");
}

constexpr auto kCache = Distance::kCache;
constexpr auto kPackage = Distance::kPackage;
constexpr auto kMachine = Distance::kMachine;

TEST(Distance, IsTheClosestThatHoldsForAllProcessorsOfBoth) {
  FakeMachine machine;
  make_two_sockets(machine);
  EXPECT_EQ(machine.distance({0}, {0}), kCache);
  EXPECT_EQ(machine.distance({0}, {2}), kCache);
  EXPECT_EQ(machine.distance({0, 2}, {0, 2}), kCache);
  EXPECT_EQ(machine.distance({0}, {4}), kPackage);
  EXPECT_EQ(machine.distance({0}, {2, 4}), kPackage);
  EXPECT_EQ(machine.distance({0, 4}, {0}), kPackage);
  EXPECT_EQ(machine.distance({0}, {1}), kMachine);
  EXPECT_EQ(machine.distance({0, 2}, {2, 3}), kMachine);
  EXPECT_EQ(machine.distance({0, 1}, {0}), kMachine);
}

TEST(Distance, IsTheSameFromEitherSide) {
  FakeMachine machine;
  make_two_sockets(machine);
  for (unsigned one = 1; one < 256; one += 3) {
    for (unsigned other = 1; other < 256; other += 5) {
      Processors sets[2];
      for (int cpu = 0; cpu < 8; ++cpu) {
        if ((one >> cpu & 1) != 0) sets[0].push_back(cpu);
        if ((other >> cpu & 1) != 0) sets[1].push_back(cpu);
      }
      EXPECT_EQ(machine.distance(sets[0], sets[1]), machine.distance(sets[1], sets[0]))
          << one << " " << other;
    }
  }
}

TEST(Distance, OfUnboundProcessesHoldsForTheWholeMachine) {
  FakeMachine two, one, single;
  make_two_sockets(two);
  one.small_caches();
  single.small_caches();
  one.package({0, 1, 2, 3, 4, 5, 6, 7}, "0-7");
  one.cache(3, {0, 1, 2, 3}, "0-3");
  one.cache(3, {4, 5, 6, 7}, "4-7");
  single.package({0, 1, 2, 3, 4, 5, 6, 7}, "0-7");
  single.cache(3, {0, 1, 2, 3, 4, 5, 6, 7}, "0-7");
  const Processors all = {0, 1, 2, 3, 4, 5, 6, 7};
  const Processors unknown;
  for (const Processors& anywhere : {all, unknown}) {
    EXPECT_EQ(two.distance(anywhere, {0}), kMachine);
    EXPECT_EQ(two.distance({0}, anywhere), kMachine);
    EXPECT_EQ(one.distance(anywhere, anywhere), kPackage);
    EXPECT_EQ(one.distance({0}, anywhere), kPackage);
    EXPECT_EQ(single.distance(anywhere, anywhere), kCache);
  }
}

TEST(Distance, TakesWhatTheSystemTells) {
  FakeMachine nothing, sockets, level2;
  EXPECT_EQ(nothing.distance({0}, {7}), kCache);  // as one piece
  EXPECT_EQ(nothing.distance({}, {}), kCache);
  sockets.package({0, 1, 2, 3}, "0-3");
  sockets.package({4, 5, 6, 7}, "4-7");
  EXPECT_EQ(sockets.distance({0}, {0}), kPackage);
  EXPECT_EQ(sockets.distance({0}, {4}), kMachine);
  level2.package({0, 1, 2, 3, 4, 5, 6, 7}, "0-7");  // the second level is the last one
  level2.cache(0, {0, 1, 2, 3}, "0-3");
  level2.cache(1, {0, 1, 2, 3}, "0-3");
  level2.cache(2, {0, 1, 2, 3}, "0-3");
  EXPECT_EQ(level2.distance({0}, {3}), kCache);
  EXPECT_EQ(level2.distance({0}, {4}), kPackage);
}

TEST(Distance, AsksTheSystemForAnotherProcess) {
  EXPECT_EQ(allowed_processors(getpid()), allowed_processors(0));
  EXPECT_FALSE(allowed_processors(0).empty());
  EXPECT_TRUE(allowed_processors(0x7fffffff).empty());
}

/// A node with two ranks, of which the other one may not have come yet.
class TwoRanks final : public Node {
 public:
  TwoRanks() : Node({0, 1}, 0) {}
  int process_id(int rank) const override {
    EXPECT_EQ(rank, 1);  // its own processors a rank asks for without
    ++asked;
    return other;
  }
  int processors_available() const override { return 1; }

  int other = -1;
  mutable int asked = 0;
};

TEST(Distances, AreLookedAtOnceTheRankIsThereAndThenKept) {
  TwoRanks node;
  Distances distances(node, 2);
  const HardwareSurroundings here = hardware_surroundings();
  EXPECT_EQ(distances.to(1), here.distance_to({}));
  EXPECT_EQ(distances.to(1), here.distance_to({}));
  EXPECT_EQ(node.asked, 2);
  node.other = getpid();
  const Distance own = here.distance_to(allowed_processors(0));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(distances.to(1), own);
  EXPECT_EQ(node.asked, 3);
  EXPECT_EQ(distances.to(0), own);
  distances.assume(kMachine);
  EXPECT_EQ(distances.to(1), kMachine);
  distances.assume(std::nullopt);
  EXPECT_EQ(distances.to(1), own);
  EXPECT_EQ(node.asked, 4);
}

constexpr ProcessorMaker kMakers[] = {ProcessorMaker::kIntel, ProcessorMaker::kAmd, ProcessorMaker::kOther};

TEST(DistanceTable, SharesLargerMessagesTheFartherTheRanksAre) {
  for (const ProcessorMaker maker : kMakers) {
    ProtocolTable table;
    table.set_thresholds(distance_tables(maker), 0, 0, 0, 0);
    EXPECT_EQ(table.sender_write_bytes_min, table.at(kCache).sender_write_bytes_min);
    for (std::size_t i = 0; i < kDistances; ++i) {
      const DistanceTable& one = table.by_distance[i];
      EXPECT_LE(one.sender_write_bytes_min, table.eager_bytes_max + 1);
      EXPECT_GE(one.waiting_get_bytes_min, one.sender_write_bytes_min);
      EXPECT_GE(one.cooperative_bytes_min, one.waiting_get_bytes_min);
      if (i == 0) continue;
      EXPECT_GE(one.sender_write_bytes_min, table.by_distance[i - 1].sender_write_bytes_min);
      EXPECT_GE(one.waiting_get_bytes_min, table.by_distance[i - 1].waiting_get_bytes_min);
      EXPECT_GE(one.cooperative_bytes_min, table.by_distance[i - 1].cooperative_bytes_min);
    }
  }
  ProtocolTable table;
  table.set_thresholds(kIntelTables, 0, 0, 0, 0);
  const LongFacts facts{.bytes = 20'000,
                        .source_symmetric = true,
                        .source_regular = true,
                        .source_dense = true,
                        .destination_symmetric = true,
                        .destination_regular = true,
                        .destination_dense = true,
                        .copy_lent = true};
  LongFacts far = facts;
  far.distance = kPackage;
  EXPECT_EQ(choose_long(facts, table).way, Way::kCooperative);
  EXPECT_EQ(choose_long(far, table).way, Way::kGet);
  EXPECT_EQ(choose_long(far, table).why, Why::kSmall);
}

TEST(DistanceTable, WhatTheUserSetsHoldsForAll) {
  ProtocolTable table;
  table.set_thresholds(kAmdTables, 100, 150, 200, 300);
  EXPECT_EQ(table.sender_write_bytes_min, 100);
  for (const DistanceTable& one : table.by_distance) {
    EXPECT_EQ(one.sender_write_bytes_min, 100);
    EXPECT_EQ(one.waiting_get_bytes_min, 150);
    EXPECT_EQ(one.cooperative_bytes_min, 200);
    EXPECT_EQ(one.stream_bytes_min, 300);
  }
  table.set_thresholds(kAmdTables, 0, 0, 200, 0);
  EXPECT_EQ(table.at(kMachine).sender_write_bytes_min, kAmdTables[2].sender_write_bytes_min);
  EXPECT_EQ(table.at(kMachine).cooperative_bytes_min, 200);
}

/// A receive of `bytes` is posted, then rank 0 sends them; and once more the other way round, with a
/// synchronous send that has to ask. Returns how many went by `way`.
std::uint64_t messages_by(Way way, ProcessorMaker maker, Distance distance, std::size_t bytes) {
  std::uint64_t count = 0;
  test::WorldOptions options;
  options.config = {.eager_bytes_max = 1024,
                    .distance = 1 + static_cast<int>(distance),
                    .processor = processor_item(maker),
                    .ring_bytes = 16 * 1024};
  test::run_ranks(
      2,
      [&](Process& process) {
        test::Rank on(process);
        test::Bytes buffer(bytes, static_cast<std::uint8_t>(1 + process.rank));
        const auto elements = static_cast<Count>(bytes);
        Request* request = nullptr;
        Status status;
        if (process.rank == 1) {
          ASSERT_EQ(api::irecv(process, buffer.data(), elements, on.byte, 0, 1, on.world, &request), 0);
          ASSERT_EQ(api::send(process, nullptr, 0, on.byte, 0, 2, on.world), 0);
          ASSERT_EQ(api::wait(process, &request, &status), 0);
          EXPECT_EQ(buffer, test::Bytes(bytes, 1));
          ASSERT_EQ(api::probe(process, 0, 3, on.world, &status), 0);
          ASSERT_EQ(api::recv(process, buffer.data(), elements, on.byte, 0, 3, on.world, &status), 0);
          count = test::received(on, way);
        } else {
          ASSERT_EQ(api::recv(process, nullptr, 0, on.byte, 1, 2, on.world, &status), 0);
          ASSERT_EQ(api::send(process, buffer.data(), elements, on.byte, 1, 1, on.world), 0);
          ASSERT_EQ(api::ssend(process, buffer.data(), elements, on.byte, 1, 3, on.world), 0);
        }
      },
      options);
  return count;
}

TEST(DistanceTable, DecidesForEachPairOfRanks) {
  for (const ProcessorMaker maker : kMakers) {
    for (std::size_t i = 0; i < kDistances; ++i) {
      SCOPED_TRACE(std::string(maker_text(maker)) + ", " + distance_text(static_cast<Distance>(i)));
      const DistanceTable& table = distance_tables(maker)[i];
      const auto by = [&](Way way, Count bytes) {
        return messages_by(way, maker, static_cast<Distance>(i), static_cast<std::size_t>(bytes));
      };
      const Count both = std::min(table.cooperative_bytes_min, table.stream_bytes_min);
      EXPECT_EQ(by(Way::kSenderWrite, table.sender_write_bytes_min - 1), 0u);
      EXPECT_EQ(by(Way::kSenderWrite, both), 1u);
      EXPECT_EQ(by(Way::kCooperative, both), 1u);
      EXPECT_EQ(by(Way::kCooperative, both - 1), 0u);
    }
  }
}

/// Rank 0 sends 4 KiB into an advertised receive of rank 1, which waits in a call meanwhile, or computes.
/// Returns how many came by `way` of at most `tries` messages, or 1 as soon as one has.
std::uint64_t advertised_by(Way way, bool waits, int tries) {
  std::atomic<std::uint64_t> count{0};
  std::atomic<int> ready{0}, sent{0};
  test::WorldOptions options;
  options.config = {.eager_bytes_max = 1024,
                    .sender_write_bytes_min = 1024,
                    .waiting_get_bytes_min = 2048,
                    .cooperative_bytes_min = 64 * 1024,
                    .spin_count = 1'000'000'000};
  test::run_ranks(
      2,
      [&](Process& process) {
        test::Rank on(process);
        for (int i = 1; i <= tries && count == 0; ++i) {
          test::Bytes buffer(4096, static_cast<std::uint8_t>(i + process.rank));
          Request* request = nullptr;
          Status status;
          if (process.rank == 1) {
            ASSERT_EQ(api::irecv(process, buffer.data(), 4096, on.byte, 0, 1, on.world, &request), 0);
            ready = i;
            while (!waits && sent != i) std::this_thread::yield();
            ASSERT_EQ(api::wait(process, &request, &status), 0);
            EXPECT_EQ(buffer, test::Bytes(4096, static_cast<std::uint8_t>(i)));
            count = test::received(on, way);
            ASSERT_EQ(api::send(process, nullptr, 0, on.byte, 0, 2, on.world), 0);  // of the count
          } else {
            while (ready != i) std::this_thread::yield();
            if (waits) std::this_thread::sleep_for(std::chrono::milliseconds(i));
            ASSERT_EQ(api::send(process, buffer.data(), 4096, on.byte, 1, 1, on.world), 0);
            sent = i;
            ASSERT_EQ(api::recv(process, nullptr, 0, on.byte, 1, 2, on.world, &status), 0);
          }
        }
      },
      options);
  return count;
}

TEST(AdvertisedReceive, IsWrittenByTheSenderWhileItsRankComputes) {
  EXPECT_EQ(advertised_by(Way::kSenderWrite, false, 1), 1u);
}

TEST(AdvertisedReceive, IsFilledByItsRankWhileThatWaits) {
  EXPECT_EQ(advertised_by(Way::kGet, true, 100), 1u);
}

}  // namespace
}  // namespace tasuki

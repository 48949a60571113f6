// The node segment of a communicator: which ranks have one, what is shown on it, that none writes over what
// others still read, that none sleeps for ever, and that its memory is given back.
#include "coll/run/communicator_state.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

#include "base/predefined.hpp"
#include "coll/byte_collectives.hpp"
#include "coll/run/execution.hpp"
#include "coll/shm/node_segment.hpp"
#include "communicator/api.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "support/line_clock.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

using test::Network;
using test::run_ranks;
using test::WorldOptions;

WorldOptions sleepy(Network network) {
  WorldOptions options{.network = network};
  options.config.spin_count = 0;  // as with more ranks than processors: a rank that waits sleeps soon
  return options;
}

void delay(std::mt19937& random) {
  const auto choice = random() % 16;
  if (choice == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
  if (choice < 4) sched_yield();
}

/// What rank `rank` shows in collective `number`, at `index`.
std::uint8_t shown(int rank, int number, int index) {
  return static_cast<std::uint8_t>(rank * 31 + number * 7 + index);
}

void fill(std::byte* room, int rank, int number, int bytes) {
  for (int index = 0; index < bytes; ++index) room[index] = std::byte{shown(rank, number, index)};
}

void expect_shown(const NodeSegment& segment, int rank, int number, int bytes) {
  ASSERT_EQ(segment.bytes(rank), bytes);
  int wrong = 0;
  for (int index = 0; index < bytes; ++index)
    wrong += segment.data(rank)[index] != std::byte{shown(rank, number, index)};
  EXPECT_EQ(wrong, 0) << "rank " << rank << ", collective " << number;
}

TEST(NodeSegment, IsThereWhereAllReachAll) {
  const auto count_segments = [](int size, const WorldOptions& options) {
    std::atomic<int> segments = 0;
    run_ranks(
        size,
        [&](Process& process) {
          Comm& world = *process.objects->world;
          NodeSegment* segment = node_segment_of(world);
          EXPECT_EQ(node_segment_of(world), segment);
          if (segment != nullptr) ++segments;
        },
        options);
    return segments.load();
  };
  EXPECT_EQ(count_segments(3, {}), 3);
  EXPECT_EQ(count_segments(1, {}), 0);
  EXPECT_EQ(count_segments(4, {.symmetric_heap = false}), 0);
  EXPECT_EQ(count_segments(4, {.odd_ranks_private = true}), 0) << "of some, all do without";
  EXPECT_EQ(count_segments(2, {.reach_nobody = true}), 0);
}

TEST(NodeSegment, ShowsPhasesAndData) {
  run_ranks(3, [](Process& process) {
    NodeSegment& segment = *node_segment_of(*process.objects->world);
    segment.enter();
    const int next = (segment.rank() + 1) % 3;
    EXPECT_FALSE(segment.has_come(segment.rank(), 0));
    fill(segment.room(4096), segment.rank(), 1, 4096);
    segment.publish(0, 4096);
    EXPECT_TRUE(segment.has_come(segment.rank(), 0));
    EXPECT_FALSE(segment.has_come(segment.rank(), 1));
    segment.await(next, 0);
    expect_shown(segment, next, 1, 4096);
    EXPECT_EQ(barrier_by_messages(*process.objects->world), 0);
    segment.publish(5, 17);  // the data is what it was: phases may be left out
    segment.await(next, 3);
    EXPECT_TRUE(segment.has_come(next, 5));
    EXPECT_EQ(segment.bytes(next), 17);
    segment.leave();
  });
}

/// Each rank shows something in each of many collectives, and all look at all.
void meet_often(Process& process, Comm& comm, unsigned seed, int times) {
  NodeSegment& segment = *node_segment_of(comm);
  std::mt19937 random(seed * 64 + static_cast<unsigned>(process.rank));
  for (int number = 1; number <= times; ++number) {
    segment.enter();
    delay(random);
    const int bytes = number * 13 % 200;
    fill(segment.room(bytes), comm.rank, number, bytes);
    segment.show(0, bytes);
    segment.await_all(0);
    delay(random);
    for (int rank = 0; rank < comm.size(); ++rank) expect_shown(segment, rank, number, bytes);
    segment.leave();
  }
}

/// One rank shows something, in turn or at random, and runs ahead; the others look at it late or early.
void tell_often(Process& process, Comm& comm, unsigned seed, int times) {
  NodeSegment& segment = *node_segment_of(comm);
  std::mt19937 same(seed);
  std::mt19937 random(seed * 64 + static_cast<unsigned>(process.rank));
  for (int number = 1; number <= times; ++number) {
    const int root = number % 64 < 40 ? 0 : static_cast<int>(same() % static_cast<unsigned>(comm.size()));
    const int bytes = number % 200 < 170 ? number % 57 : 100;  // a line's, most often
    segment.enter();
    delay(random);
    if (comm.rank == root) {
      fill(segment.room(bytes), root, number, bytes);
      segment.publish(1, bytes);
    } else {
      segment.await(root, 1);
      expect_shown(segment, root, number, bytes);
    }
    segment.leave();
  }
}

/// The other way round: all show something to one.
void report_often(Process& process, Comm& comm, unsigned seed, int times) {
  NodeSegment& segment = *node_segment_of(comm);
  std::mt19937 same(seed);
  std::mt19937 random(seed * 64 + static_cast<unsigned>(process.rank));
  for (int number = 1; number <= times; ++number) {
    const int root = static_cast<int>(same() % static_cast<unsigned>(comm.size()));
    segment.enter();
    delay(random);
    if (comm.rank == root) {
      int rank = 0;
      process.progress->wait_until([&] {
        for (; rank < comm.size(); ++rank) {
          if (rank != root && !segment.has_come_or_wait(rank, 2)) return false;
        }
        return true;
      });
      segment.stop_waiting();
      for (int other = 0; other < comm.size(); ++other) {
        if (other != root) expect_shown(segment, other, number, 60);
      }
    } else {
      fill(segment.room(60), comm.rank, number, 60);
      segment.publish(2, 60);
    }
    segment.leave();
  }
}

class NodeSegmentUnderLoad : public testing::TestWithParam<std::tuple<int, Network>> {};

TEST_P(NodeSegmentUnderLoad, NoRankSleepsForEverAndNothingIsWrittenOver) {
  const auto [size, network] = GetParam();
  run_ranks(
      size,
      [](Process& process) {
        Comm& world = *process.objects->world;
        Comm* meet = nullptr;
        Comm* tell = nullptr;
        Comm* report = nullptr;
        ASSERT_EQ(api::comm_dup(process, &world, &meet), 0);
        ASSERT_EQ(api::comm_split(process, &world, 0, -process.rank, &tell), 0);
        ASSERT_EQ(api::comm_dup(process, &world, &report), 0);
        meet_often(process, *meet, 1, 150);
        tell_often(process, *tell, 2, 150);
        report_often(process, *report, 3, 150);
        for (Comm** comm : {&meet, &tell, &report}) ASSERT_EQ(api::comm_free(process, comm), 0);
      },
      sleepy(network));
}

INSTANTIATE_TEST_SUITE_P(Sizes, NodeSegmentUnderLoad,
                         testing::Combine(testing::Values(2, 3, 4, 8),
                                          testing::Values(Network::kSharedMemory, Network::kInproc)));

/// So many long messages between rank 0 and each other rank, one way.
void send_long_ones(Comm& comm, int count, bool to_zero) {
  Datatype& byte = *static_cast<Datatype*>(comm.process.objects->predefined[kMpiByte]);
  std::vector<std::byte> buffer(40'000);
  for (int other = 1; other < comm.size(); ++other) {
    if (comm.rank != 0 && comm.rank != other) continue;
    const int peer = comm.rank == 0 ? other : 0;
    for (int i = 0; i < count; ++i) {
      if ((comm.rank == 0) != to_zero) {
        ASSERT_EQ(api::ssend(comm.process, buffer.data(), 40'000, &byte, peer, i, &comm), 0);
      } else {
        Status status;
        ASSERT_EQ(api::recv(comm.process, buffer.data(), 40'000, &byte, peer, i, &comm, &status), 0);
      }
    }
  }
}

TEST(NodeSegment, AllKnowAlikeInWhichCollectiveLinesBeginToTravelNear) {
  constexpr int kTimes = 600;
  for (const auto& [size, to_zero] : {std::pair{2, true}, {2, false}, {3, true}, {8, false}}) {
    test::LookedAtClock clock;
    std::vector<std::vector<char>> told(static_cast<std::size_t>(size));
    WorldOptions options = test::options_of(clock, ProcessorMaker::kAmd);
    options.config.spin_count = 0;
    run_ranks(
        size,
        [&, size = size, to_zero = to_zero](Process& process) {
          Comm& world = *process.objects->world;
          NodeSegment& segment = *node_segment_of(world);
          std::mt19937 same(7), random(static_cast<unsigned>(process.rank));
          EXPECT_FALSE(segment.near_lines()) << "nothing is known";
          for (const std::int64_t ns : {test::kNearNs, test::kFarNs, test::kNearNs}) {
            clock.line_ns = ns;
            send_long_ones(world, 100, to_zero);
            for (int number = 1; number <= kTimes; ++number) {
              const int root = number % 100 < 70 ? 1 : static_cast<int>(same() % static_cast<unsigned>(size));
              told[static_cast<std::size_t>(process.rank)].push_back(segment.near_lines());
              segment.enter();
              delay(random);
              if (world.rank == root) {
                segment.room(8);
                segment.publish(1, 8);
              } else {
                segment.await(root, 1);
              }
              segment.leave();
            }
            EXPECT_EQ(segment.near_lines(), ns == test::kNearNs) << size << " ranks, to rank 0: " << to_zero;
          }
        },
        options);
    for (int rank = 1; rank < size; ++rank) EXPECT_EQ(told[static_cast<std::size_t>(rank)], told[0]);
  }
}

TEST(NodeSegment, WaitsGoOnWithOtherThings) {
  run_ranks(2, [](Process& process) {
    Comm& world = *process.objects->world;
    Datatype* byte = static_cast<Datatype*>(process.objects->predefined[kMpiByte]);
    std::vector<std::byte> data(1 << 20);
    NodeSegment& segment = *node_segment_of(world);
    const int other = 1 - process.rank;
    Request* request = nullptr;
    segment.enter();
    if (process.rank == 0) {
      // The message needs this rank's help, which it gives while it waits on the node segment.
      ASSERT_EQ(api::isend(process, data.data(), 1 << 20, byte, other, 0, &world, &request), 0);
      segment.await(other, 0);
      ASSERT_EQ(api::wait(process, &request, nullptr), 0);
    } else {
      ASSERT_EQ(api::recv(process, data.data(), 1 << 20, byte, other, 0, &world, nullptr), 0);
      segment.room(0);
      segment.publish(0, 0);
    }
    segment.leave();
  });
}

TEST(NodeSegment, ItsMemoryIsGivenBackWhenAllHaveReleasedIt) {
  run_ranks(3, [](Process& process) {
    Comm& world = *process.objects->world;
    NodeSegments& segments = process.collectives->node_segments;
    for (int round = 0; round < 20; ++round) {
      Comm* comm = nullptr;
      ASSERT_EQ(api::comm_dup(process, &world, &comm), 0);
      ASSERT_NE(node_segment_of(*comm), nullptr);
      ASSERT_EQ(segments.live(), 1U);
      node_segment_of(*comm)->enter();
      ASSERT_NE(node_segment_of(*comm)->keep(100),
                nullptr);  // goes with the rest; a leak is AddressSanitizer's to find
      node_segment_of(*comm)->leave();
      ASSERT_EQ(api::comm_free(process, &comm), 0);
      ASSERT_EQ(segments.live(), 0U);
      // A rank that is late has the one before, and this one, still to release.
      ASSERT_LE(segments.retired(), 3U);
    }
    ASSERT_EQ(barrier_by_messages(world), 0);
    segments.give_back();
    EXPECT_EQ(segments.retired(), 0U);
  });
}

}  // namespace
}  // namespace tasuki

// The stage of a communicator: who has one, what is shown on it, that nobody writes over what others still
// read, that nobody sleeps for ever, and that its memory is given back.
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
#include "object/api.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

using test::Network;
using test::run_ranks;
using test::WorldOptions;

WorldOptions sleepy(Network network) {
  WorldOptions options{.network = network};
  options.config.spin_count = 0;  // as with more ranks than processors: who waits sleeps soon
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

void expect_shown(const Stage& stage, int rank, int number, int bytes) {
  ASSERT_EQ(stage.bytes(rank), bytes);
  int wrong = 0;
  for (int index = 0; index < bytes; ++index)
    wrong += stage.data(rank)[index] != std::byte{shown(rank, number, index)};
  EXPECT_EQ(wrong, 0) << "rank " << rank << ", collective " << number;
}

TEST(Stage, IsThereWhereAllReachAll) {
  const auto count_stages = [](int size, const WorldOptions& options) {
    std::atomic<int> stages = 0;
    run_ranks(
        size,
        [&](Process& process) {
          Comm& world = *process.objects->world;
          Stage* stage = stage_of(world);
          EXPECT_EQ(stage_of(world), stage);
          if (stage != nullptr) ++stages;
        },
        options);
    return stages.load();
  };
  EXPECT_EQ(count_stages(3, {}), 3);
  EXPECT_EQ(count_stages(1, {}), 0);
  EXPECT_EQ(count_stages(4, {.global_memory = false}), 0);
  EXPECT_EQ(count_stages(4, {.odd_ranks_private = true}), 0) << "of some, all do without";
  EXPECT_EQ(count_stages(2, {.reach_nobody = true}), 0);
}

TEST(Stage, ShowsPhasesAndData) {
  run_ranks(3, [](Process& process) {
    Stage& stage = *stage_of(*process.objects->world);
    stage.enter();
    const int next = (stage.rank() + 1) % 3;
    EXPECT_FALSE(stage.has_come(stage.rank(), 0));
    fill(stage.room(4096), stage.rank(), 1, 4096);
    stage.publish(0, 4096);
    EXPECT_TRUE(stage.has_come(stage.rank(), 0));
    EXPECT_FALSE(stage.has_come(stage.rank(), 1));
    stage.await(next, 0);
    expect_shown(stage, next, 1, 4096);
    EXPECT_EQ(barrier_by_messages(*process.objects->world), 0);
    stage.publish(5, 17);  // the data is what it was: phases may be left out
    stage.await(next, 3);
    EXPECT_TRUE(stage.has_come(next, 5));
    EXPECT_EQ(stage.bytes(next), 17);
    stage.leave();
  });
}

/// Everybody shows something in each of many collectives, and all look at all.
void meet_often(Process& process, Comm& comm, unsigned seed, int times) {
  Stage& stage = *stage_of(comm);
  std::mt19937 random(seed * 64 + static_cast<unsigned>(process.rank));
  for (int number = 1; number <= times; ++number) {
    stage.enter();
    delay(random);
    const int bytes = number * 13 % 200;
    fill(stage.room(bytes), comm.rank, number, bytes);
    stage.show(0, bytes);
    stage.await_all(0);
    delay(random);
    for (int rank = 0; rank < comm.size(); ++rank) expect_shown(stage, rank, number, bytes);
    stage.leave();
  }
}

/// One rank shows something, in turn or at random, and runs ahead; the others look at it late or early.
void tell_often(Process& process, Comm& comm, unsigned seed, int times) {
  Stage& stage = *stage_of(comm);
  std::mt19937 same(seed);
  std::mt19937 random(seed * 64 + static_cast<unsigned>(process.rank));
  for (int number = 1; number <= times; ++number) {
    const int root = number % 64 < 40 ? 0 : static_cast<int>(same() % static_cast<unsigned>(comm.size()));
    const int bytes = number % 200 < 170 ? number % 57 : 100;  // a line's, most often
    stage.enter();
    delay(random);
    if (comm.rank == root) {
      fill(stage.room(bytes), root, number, bytes);
      stage.publish(1, bytes);
    } else {
      stage.await(root, 1);
      expect_shown(stage, root, number, bytes);
    }
    stage.leave();
  }
}

/// The other way round: all show something to one.
void report_often(Process& process, Comm& comm, unsigned seed, int times) {
  Stage& stage = *stage_of(comm);
  std::mt19937 same(seed);
  std::mt19937 random(seed * 64 + static_cast<unsigned>(process.rank));
  for (int number = 1; number <= times; ++number) {
    const int root = static_cast<int>(same() % static_cast<unsigned>(comm.size()));
    stage.enter();
    delay(random);
    if (comm.rank == root) {
      int rank = 0;
      process.progress->wait_until([&] {
        for (; rank < comm.size(); ++rank) {
          if (rank != root && !stage.has_come_or_wait(rank, 2)) return false;
        }
        return true;
      });
      stage.stop_waiting();
      for (int other = 0; other < comm.size(); ++other) {
        if (other != root) expect_shown(stage, other, number, 60);
      }
    } else {
      fill(stage.room(60), comm.rank, number, 60);
      stage.publish(2, 60);
    }
    stage.leave();
  }
}

class StageUnderLoad : public testing::TestWithParam<std::tuple<int, Network>> {};

TEST_P(StageUnderLoad, NobodySleepsForEverAndNothingIsWrittenOver) {
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

INSTANTIATE_TEST_SUITE_P(Sizes, StageUnderLoad,
                         testing::Combine(testing::Values(2, 3, 4, 8),
                                          testing::Values(Network::kSharedMemory, Network::kInproc)));

TEST(Stage, WaitsGoOnWithOtherThings) {
  run_ranks(2, [](Process& process) {
    Comm& world = *process.objects->world;
    Datatype* byte = static_cast<Datatype*>(process.objects->predefined[kMpiByte]);
    std::vector<std::byte> data(1 << 20);
    Stage& stage = *stage_of(world);
    const int other = 1 - process.rank;
    Request* request = nullptr;
    stage.enter();
    if (process.rank == 0) {
      // The message needs this rank's help, which it gives while it waits on the stage.
      ASSERT_EQ(api::isend(process, data.data(), 1 << 20, byte, other, 0, &world, &request), 0);
      stage.await(other, 0);
      ASSERT_EQ(api::wait(process, &request, nullptr), 0);
    } else {
      ASSERT_EQ(api::recv(process, data.data(), 1 << 20, byte, other, 0, &world, nullptr), 0);
      stage.room(0);
      stage.publish(0, 0);
    }
    stage.leave();
  });
}

TEST(Stage, ItsMemoryIsGivenBackWhenAllHaveReleasedIt) {
  run_ranks(3, [](Process& process) {
    Comm& world = *process.objects->world;
    Stages& stages = process.collectives->stages;
    for (int round = 0; round < 20; ++round) {
      Comm* comm = nullptr;
      ASSERT_EQ(api::comm_dup(process, &world, &comm), 0);
      ASSERT_NE(stage_of(*comm), nullptr);
      ASSERT_EQ(stages.live(), 1U);
      stage_of(*comm)->enter();
      ASSERT_NE(stage_of(*comm)->keep(100),
                nullptr);  // goes with the rest; a leak is AddressSanitizer's to find
      stage_of(*comm)->leave();
      ASSERT_EQ(api::comm_free(process, &comm), 0);
      ASSERT_EQ(stages.live(), 0U);
      // A rank that is late has the one before, and this one, still to release.
      ASSERT_LE(stages.retired(), 3U);
    }
    ASSERT_EQ(barrier_by_messages(world), 0);
    stages.give_back();
    EXPECT_EQ(stages.retired(), 0U);
  });
}

}  // namespace
}  // namespace tasuki

// The shared file pointer and the range locks of ranks on several nodes: kept by an owner, asked for by
// messages. The ranks share no table of locks here, and no memory between nodes.
#include "io/shared/owner_service.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "coll/byte_collectives.hpp"
#include "communicator/api.hpp"
#include "p2p/call/api.hpp"
#include "p2p/core_calls.hpp"
#include "progress/progress.hpp"
#include "support.hpp"
#include "support/child.hpp"

namespace tasuki::test {
namespace {

WorldOptions over_nodes(std::vector<int> nodes) {
  WorldOptions options;
  options.nodes = std::move(nodes);
  options.file_locks = false;
  return options;
}

/// Ranks add to a number in turn: nothing is lost only where they exclude each other.
void count_up(Process& process, File& file, std::int64_t* number, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const RangeLock lock(file.locks.get(), {process.rank, 100}, RangeUse::kExclusive);
    const std::int64_t before = *static_cast<volatile std::int64_t*>(number);
    if (round % 4 == 0) process.progress->poll();
    *static_cast<volatile std::int64_t*>(number) = before + 1;
  }
}

TEST(OwnerService, LocksExcludeTheRanksOfAFile) {
  for (const std::vector<int>& nodes :
       {std::vector<int>{0, 1}, std::vector<int>{0, 0, 1}, std::vector<int>{0, 1, 2, 3}}) {
    const int ranks = static_cast<int>(nodes.size());
    std::int64_t number = 0;
    with_file(
        ranks,
        [&](Process& process, File& file) {
          EXPECT_TRUE(file.locks->are_shared_by_all());
          count_up(process, file, &number, 100);
          std::int64_t asked = static_cast<std::int64_t>(process.counters.files.owner_requests);
          std::vector<std::int64_t> all(static_cast<std::size_t>(ranks));
          expect_success(process, allgather_bytes(*file.comm, &asked, all.data(), sizeof asked));
          // All but the owner ask by messages: for each round one to lock and one to unlock.
          EXPECT_EQ(std::count_if(all.begin(), all.end(), [](std::int64_t one) { return one >= 200; }),
                    ranks - 1);
        },
        kModeRdwr | kModeCreate, over_nodes(nodes));
    EXPECT_EQ(number, ranks * 100);
  }
}

TEST(OwnerService, LocksExcludeRanksThatOpenedTheFileThemselves) {
  const FileName name;
  std::int64_t number = 0;
  run_ranks(
      4,
      [&](Process& process) {
        File* file = open_file(process, process.objects->self, name.get(), kModeRdwr);
        ASSERT_NE(file, nullptr);
        EXPECT_TRUE(file->locks->are_shared_by_all());
        count_up(process, *file, &number, 100);
        expect_success(process, api::file_close(process, &file));
      },
      over_nodes({0, 0, 1, 1}));
  EXPECT_EQ(number, 4 * 100);
}

/// Each rank in turn is in no call on the file, but waits for a message: it serves all the same.
TEST(OwnerService, AnOwnerServesInAnyCall) {
  with_file(
      3,
      [&](Process& process, File& file) {
        Comm* world = process.objects->world;
        for (int idle = 0; idle < 3; ++idle) {
          char go = 0;
          if (process.rank == idle) {
            Status status;
            for (int other = 0; other < 3; ++other) {
              if (other != idle)
                api::recv(process, &go, 1, named(process, kMpiByte), other, 0, world, &status);
            }
          } else {
            for (int round = 0; round < 20; ++round) {
              const RangeLock lock(file.locks.get(), {round, round + 5}, RangeUse::kExclusive);
              file.shared->advance(1);
            }
            api::send(process, &go, 1, named(process, kMpiByte), idle, 0, world);
          }
        }
        expect_success(process, api::barrier(process, world));
        EXPECT_EQ(file.shared->position(), 3 * 2 * 20);
      },
      kModeRdwr | kModeCreate, over_nodes({0, 1, 2}));
}

TEST(OwnerService, SharedRangesAreHeldTogether) {
  with_file(
      2,
      [&](Process& process, File& file) {
        Comm* world = process.objects->world;
        const RangeLock lock(file.locks.get(), {0, 10}, RangeUse::kShared);
        expect_success(process, api::barrier(process, world));
      },
      kModeRdwr | kModeCreate, over_nodes({0, 1}));
}

TEST(OwnerService, TheSharedPointerGivesEachPlaceOnce) {
  constexpr int kRanks = 4;
  constexpr int kRounds = 50;
  with_file(
      kRanks,
      [&](Process& process, File& file) {
        std::vector<Offset> mine;
        for (int round = 0; round < kRounds; ++round) mine.push_back(file.shared->advance(1));
        EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
        std::vector<Offset> all(kRanks * kRounds);
        expect_success(process,
                       allgather_bytes(*file.comm, mine.data(), all.data(), kRounds * sizeof(Offset)));
        std::sort(all.begin(), all.end());
        std::vector<Offset> expected(all.size());
        std::iota(expected.begin(), expected.end(), 0);
        EXPECT_EQ(all, expected);
        if (file.comm->rank != 0) {
          EXPECT_GE(process.counters.files.owner_requests, static_cast<std::uint64_t>(kRounds));
        }
      },
      kModeRdwr | kModeCreate, over_nodes({0, 1, 1, 0}));
}

/// Between MPI_Init and MPI_Finalize alone all ranks serve: else the locks are those of the file.
TEST(OwnerService, OutsideOfTheWorldLocksAreTheFiles) {
  std::int64_t number = 0;
  with_file(
      3,
      [&](Process& process, File& file) {
        std::unique_ptr<OwnerService> service = std::move(process.files->job_locks);
        EXPECT_FALSE(file.locks->are_shared_by_all());
        count_up(process, file, &number, 50);
        expect_success(process, api::barrier(process, process.objects->world));
        process.files->job_locks = std::move(service);
      },
      kModeRdwr | kModeCreate, over_nodes({0, 1, 1}));
  EXPECT_EQ(number, 3 * 50);
}

/// On one node of several, ranks share the pointer by memory.
TEST(OwnerService, RanksOfOneNodeSendNothingForThePointer) {
  const FileName name;
  run_ranks(
      4,
      [&](Process& process) {
        Comm* node = nullptr;
        expect_success(process, api::comm_split(process, process.objects->world, process.rank / 2, 0, &node));
        File* file = open_file(process, node, name.get(), kModeRdwr);
        ASSERT_NE(file, nullptr);
        for (int round = 0; round < 20; ++round) file->shared->advance(1);
        expect_success(process, api::barrier(process, node));
        EXPECT_EQ(file->shared->position(), 40);
        EXPECT_EQ(process.counters.files.owner_requests, 0U);
        expect_success(process, api::file_close(process, &file));
        expect_success(process, api::comm_free(process, &node));
      },
      over_nodes({0, 0, 1, 1}));
}

/// What another rank sends is looked at.
TEST(OwnerService, ADamagedMessageEndsTheJob) {
  struct Words {
    std::vector<std::uint64_t> message;
    const char* told;
  };
  const std::vector<Words> cases = {
      {{1, 1, 1}, "of a wrong size"},
      {{99, 1, 1, 0, 1}, "of no known kind"},
      {{5, 1, 1, 10, 10}, "a range that is none"},
      {{6, 1, 1, 0, 0}, "a release of what is not held"},
      {{8, 1, 1, 0, 0}, "an answer to nothing that was asked"},
  };
  for (const Words& one : cases) {
    const Ending ending = run_in_child(
        [&] {
          with_file(
              2,
              [&](Process& process, File& file) {
                const Count bytes = static_cast<Count>(one.message.size() * sizeof one.message[0]);
                if (file.comm->rank == 1)
                  send_message(one.message.data(), bytes, *named(process, kMpiByte), 0, 0, *file.comm,
                               Plane::kPointToPoint);
                static_cast<void>(api::barrier(process, process.objects->world));
              },
              kModeRdwr | kModeCreate, over_nodes({0, 1}));
        },
        30);
    EXPECT_EQ(ending.how, Ended::kTold) << one.told << "\n" << ending.text;
    EXPECT_NE(ending.text.find(std::string("what ranks share of a file: ") + one.told), std::string::npos)
        << ending.text;
  }
}

}  // namespace
}  // namespace tasuki::test

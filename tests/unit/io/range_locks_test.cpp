// Locks on ranges of a file: among its ranks, among several opens of it, with ranks that wait for each other
// meanwhile, and where a job shares no table.
#include "io/shared/range_locks.hpp"

#include <atomic>

#include "p2p/call/api.hpp"
#include "progress/progress.hpp"
#include "support.hpp"

namespace tasuki::test {
namespace {

/// Ranks add to a number in turn: nothing is lost only where they exclude each other.
template <class Number>
void count_up(Process& process, File& file, Number* number, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const RangeLock lock(file.locks.get(), {process.rank, 100}, RangeUse::kExclusive);
    const std::int64_t before = *number;
    if (round % 8 == 0) process.progress->poll();
    *number = before + 1;
  }
}

TEST(RangeLocks, ExcludeTheRanksOfAFile) {
  std::int64_t number = 0;
  with_file(4, [&](Process& process, File& file) {
    EXPECT_TRUE(file.locks->are_shared_by_all());
    count_up(process, file, &number, 500);
  });
  EXPECT_EQ(number, 4 * 500);
}

TEST(RangeLocks, ExcludeThoseWhoOpenedItThemselves) {
  const FileName name;
  std::int64_t number = 0;
  run_ranks(3, [&](Process& process) {
    File* file = open_file(process, process.objects->self, name.get(), kModeRdwr);
    ASSERT_NE(file, nullptr);
    EXPECT_TRUE(file->locks->are_shared_by_all());
    count_up(process, *file, &number, 500);
    expect_success(process, api::file_close(process, &file));
  });
  EXPECT_EQ(number, 3 * 500);
}

/// Each rank maps the locks at an address of its own: the thread sanitizer cannot see that they are the same,
/// so the number is atomic. What is lost shows all the same.
TEST(RangeLocks, LieWithTheFileWhereTheJobSharesNoTable) {
  std::atomic<std::int64_t> number = 0;
  const WorldOptions options{.file_locks = false};
  with_file(
      3,
      [&](Process& process, File& file) {
        EXPECT_FALSE(file.locks->are_shared_by_all());
        count_up(process, file, &number, 200);
      },
      kModeRdwr | kModeCreate, options);
  EXPECT_EQ(number, 3 * 200);
}

/// Rank 0 holds a range and receives what rank 1 can send only while it waits for that range: a message so
/// long that it needs the sender's help.
TEST(RangeLocks, WhoWaitsForOneMakesProgress) {
  const WorldOptions options{.network = Network::kInproc, .symmetric_heap = false};
  with_file(
      2,
      [&](Process& process, File& file) {
        Comm* world = process.objects->world;
        std::vector<char> data(1 << 20);
        const auto bytes = static_cast<Count>(data.size());
        if (process.rank == 0) {
          const RangeLock lock(file.locks.get(), {0, 100}, RangeUse::kExclusive);
          char go = 0;
          api::send(process, &go, 1, named(process, kMpiByte), 1, 0, world);
          Status status;
          api::recv(process, data.data(), bytes, named(process, kMpiByte), 1, 0, world, &status);
          EXPECT_EQ(status.bytes, bytes);
        } else {
          char go = 0;
          Status status;
          api::recv(process, &go, 1, named(process, kMpiByte), 0, 0, world, &status);
          Request* request = nullptr;
          api::isend(process, data.data(), bytes, named(process, kMpiByte), 0, 0, world, &request);
          { const RangeLock lock(file.locks.get(), {50, 60}, RangeUse::kShared); }
          api::wait(process, &request, &status);
        }
      },
      kModeRdwr | kModeCreate, options);
}

TEST(RangeLocks, AnEmptyRangeLocksNothing) {
  with_file(1, [](Process&, File& file) {
    const RangeLock all(file.locks.get(), {0, INT64_MAX}, RangeUse::kExclusive);
    const RangeLock none(file.locks.get(), {5, 5}, RangeUse::kExclusive);
  });
}

}  // namespace
}  // namespace tasuki::test

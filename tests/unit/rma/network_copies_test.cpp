// Windows over nodes whose puts and gets the network makes: a target that calls nothing of MPI is not needed;
// an unlock and a request wait for copies that are late.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/predefined.hpp"
#include "base/process.hpp"
#include "coll/api.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "rma/api.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

using test::Network;
using test::run_ranks;
using test::WorldOptions;

constexpr int kNoCheck = 1024;
constexpr int kLockShared = 302;
constexpr int kLockExclusive = 301;

WorldOptions by_copies(std::vector<int> nodes) {
  WorldOptions options;
  options.network = Network::kInproc;
  options.nodes = std::move(nodes);
  options.late_copies = true;
  return options;
}

/// A window of `slots` numbers, this rank's at `base`, which are 0.
struct Window {
  Window(Process& of, int slots)
      : process(of), world(of.objects->world), number(predefined_object<Datatype>(*of.objects, kMpiInt64T)) {
    void* memory = nullptr;
    EXPECT_EQ(api::win_allocate(process, slots * 8, 8, nullptr, world, &memory, &win), 0);
    base = static_cast<std::int64_t*>(memory);
    for (int i = 0; i < slots; ++i) base[i] = 0;
    EXPECT_EQ(api::barrier(process, world), 0);
  }
  ~Window() { EXPECT_EQ(api::win_free(process, &win), 0); }

  Process& process;
  Comm* world;
  Datatype* number;
  Win* win = nullptr;
  std::int64_t* base = nullptr;
};

TEST(NetworkCopies, NeedNoTarget) {
  std::atomic<bool> over{false};
  run_ranks(
      2,
      [&over](Process& process) {
        Window window(process, 1000);
        EXPECT_FALSE(window.win->is_mapped(1 - process.rank));
        if (process.rank == 1) {
          while (!over.load()) std::this_thread::yield();  // it computes
          EXPECT_EQ(window.base[7], 42);
          return;
        }
        std::vector<std::int64_t> put(1000, 42), got(1000, 0);
        EXPECT_EQ(api::win_lock(process, kLockShared, 1, kNoCheck, window.win), 0);
        EXPECT_EQ(api::put(process, put.data(), 1000, window.number, 1, 0, 1000, window.number, window.win),
                  0);
        EXPECT_EQ(api::win_flush(process, 1, window.win), 0);
        EXPECT_EQ(api::get(process, got.data(), 1000, window.number, 1, 0, 1000, window.number, window.win),
                  0);
        EXPECT_EQ(api::win_unlock(process, 1, window.win), 0);
        EXPECT_EQ(got, put);
        over = true;
      },
      by_copies({0, 1}));
}

TEST(NetworkCopies, AreCompleteBeforeTheLockIsGivenBack) {
  constexpr int kRounds = 40;
  run_ranks(
      3,
      [](Process& process) {
        Window window(process, 2);
        for (int round = 0; round < kRounds; ++round) {
          std::int64_t pair[2] = {};
          EXPECT_EQ(api::win_lock(process, kLockExclusive, 0, 0, window.win), 0);
          EXPECT_EQ(api::get(process, pair, 2, window.number, 0, 0, 2, window.number, window.win), 0);
          EXPECT_EQ(api::win_flush(process, 0, window.win), 0);
          EXPECT_EQ(pair[0], pair[1]);
          std::int64_t next[2] = {pair[0] + 1, pair[1] + 1};
          EXPECT_EQ(api::put(process, next, 2, window.number, 0, 0, 2, window.number, window.win), 0);
          EXPECT_EQ(api::win_unlock(process, 0, window.win), 0);
        }
        EXPECT_EQ(api::barrier(process, window.world), 0);
        if (process.rank == 0) EXPECT_EQ(window.base[0], 3 * kRounds);
      },
      by_copies({0, 1, 2}));
}

TEST(NetworkCopies, EndTheirRequests) {
  run_ranks(
      2,
      [](Process& process) {
        Window window(process, 100);
        const int other = 1 - process.rank;
        EXPECT_EQ(api::win_lock_all(process, 0, window.win), 0);
        std::vector<std::int64_t> put(100, 5 + process.rank), got(100, 0);
        Request* request = nullptr;
        EXPECT_EQ(api::rput(process, put.data(), 100, window.number, other, 0, 100, window.number, window.win,
                            &request),
                  0);
        EXPECT_EQ(api::wait(process, &request, nullptr), 0);
        EXPECT_EQ(api::win_flush(process, other, window.win), 0);
        EXPECT_EQ(api::rget(process, got.data(), 100, window.number, other, 0, 100, window.number, window.win,
                            &request),
                  0);
        EXPECT_EQ(api::wait(process, &request, nullptr), 0);
        EXPECT_EQ(got, put);
        EXPECT_EQ(api::win_unlock_all(process, window.win), 0);
      },
      by_copies({0, 1}));
}

}  // namespace
}  // namespace tasuki

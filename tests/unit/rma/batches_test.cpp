// Small accesses of a window over nodes, and the flush behind them, leave in one message; all of them arrive,
// those that no flush follows too, and those to different ranks in turn.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/predefined.hpp"
#include "base/process.hpp"
#include "coll/api.hpp"
#include "object/objects.hpp"
#include "rma/api.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

constexpr int kSlots = 64;

/// A window of numbers over the ranks of all nodes; this rank's, which are 0 at first, at `base`.
struct Window {
  explicit Window(Process& of)
      : process(of),
        world(of.objects->world),
        number(static_cast<Datatype*>(of.objects->predefined[kMpiInt64T])),
        sum(static_cast<Op*>(of.objects->predefined[kMpiSum])) {
    void* memory = nullptr;
    EXPECT_EQ(api::win_allocate(process, kSlots * 8, 8, nullptr, world, &memory, &win), 0);
    base = static_cast<std::int64_t*>(memory);
    for (int i = 0; i < kSlots; ++i) base[i] = 0;
    meet();
    EXPECT_EQ(api::win_lock_all(process, 0, win), 0);
  }
  void put(const std::int64_t& value, int target, int slot) {
    EXPECT_EQ(api::put(process, &value, 1, number, target, slot, 1, number, win), 0);
  }
  void add(const std::int64_t& value, int target, int slot) {
    EXPECT_EQ(api::accumulate(process, &value, 1, number, target, slot, 1, number, sum, win), 0);
  }
  void flush(int target) { EXPECT_EQ(api::win_flush(process, target, win), 0); }
  void meet() { EXPECT_EQ(api::barrier(process, world), 0); }
  void close() {
    EXPECT_EQ(api::win_unlock_all(process, win), 0);
    meet();
  }
  void end() { EXPECT_EQ(api::win_free(process, &win), 0); }
  std::uint64_t messages_sent() const {
    std::uint64_t sent = 0;
    for (const WayTraffic& way : process.counters.ways) sent += way.sent.messages;
    return sent;
  }

  Process& process;
  Comm* world;
  Datatype* number;
  Op* sum;
  Win* win = nullptr;
  std::int64_t* base = nullptr;
};

TEST(Batches, TakeManyAccessesAndTheirFlush) {
  test::run_ranks(2,
                  [](Process& process) {
                    Window window(process);
                    window.meet();  // what is counted is not to have answers to the other one's lock in it
                    if (process.rank == 0) {
                      const std::uint64_t before = window.messages_sent();
                      for (std::int64_t i = 0; i < kSlots; ++i) window.put(i + 1, 1, static_cast<int>(i));
                      window.flush(1);
                      EXPECT_LE(window.messages_sent() - before,
                                12U);  // they are longer than a small ring takes at once
                      const std::uint64_t between = window.messages_sent();
                      window.put(7, 1, 0);
                      window.flush(1);
                      EXPECT_EQ(window.messages_sent() - between, 1U);
                    }
                    window.meet();  // nor to its unlock
                    window.close();
                    for (int i = 1; i < kSlots && process.rank == 1; ++i) EXPECT_EQ(window.base[i], i + 1);
                    window.end();
                  },
                  {.nodes = {0, 1}});
}

TEST(Batches, AreOneAfterTheOtherWhereTheTargetsAreMany) {
  constexpr int kRanks = 3;
  test::run_ranks(kRanks,
                  [](Process& process) {
                    Window window(process);
                    for (int round = 0; round < 100; ++round) {
                      for (int target = 0; target < kRanks; ++target) {
                        window.add(1, target, round % kSlots);
                        if (round % 7 == target) window.flush(target);
                      }
                    }
                    window.close();
                    std::int64_t all = 0;
                    for (int i = 0; i < kSlots; ++i) all += window.base[i];
                    EXPECT_EQ(all, 100 * kRanks);
                    window.end();
                  },
                  {.nodes = {0, 1, 2}});
}

}  // namespace
}  // namespace tasuki

// What a rank that waits reports: the requests that its call waits for, with the call that made each,
// and whom a collective, a lock or an epoch waits for. Each test has a rank wait, asks it as mpiexec does,
// and lets it go on.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/calls/call_board.hpp"
#include "coll/api.hpp"
#include "coll/run/communicator_state.hpp"
#include "coll/run/execution.hpp"
#include "coll/shm/node_segment.hpp"
#include "object/api.hpp"
#include "p2p/awaiting.hpp"
#include "p2p/call/api.hpp"
#include "p2p/ranks.hpp"
#include "p2p/request.hpp"
#include "rma/api.hpp"
#include "rma/message/messenger.hpp"
#include "rma/window.hpp"

namespace tasuki {
namespace {

using test::Bytes;
using test::Network;
using test::Rank;
using test::run_ranks;
using test::WorldOptions;

constexpr int kLockExclusive = 301;
constexpr int kLockShared = 302;

/// Answers on behalf of one rank by what `look` finds there.
class Asked final : public Answerer {
 public:
  Asked(Process& process, std::function<void()> look) : process_(process), look_(std::move(look)) {
    process.progress->set_board(process.board, *this);
  }

  void answer(std::uint64_t asked, std::int64_t /*since_ns*/) override {
    look_();
    answered_.store(asked, std::memory_order_release);
  }

  /// For another rank: returns once this one has answered.
  void ask() {
    const std::uint64_t number = process_.board.asked.fetch_add(1, std::memory_order_release) + 1;
    while (answered_.load(std::memory_order_acquire) < number) sched_yield();
  }

 private:
  Process& process_;
  std::function<void()> look_;
  std::atomic<std::uint64_t> answered_{0};
};

/// What rank 0 finds, and rank 1 reads once it has answered.
struct Found {
  std::vector<int> missing;
  std::vector<Function> functions;
  std::vector<std::uint64_t> sites;
  Awaits how = Awaits::kNothing;
};

WorldOptions sleepy(Network network = Network::kSharedMemory) {
  WorldOptions options{.network = network};
  options.config.spin_count = 0;  // a rank that waits sleeps soon
  return options;
}

void begin_call(Process& process, Function function, std::uint64_t site) {
  process.line.word.store(kInside | static_cast<std::uint64_t>(function), std::memory_order_relaxed);
  process.line.site.store(site, std::memory_order_relaxed);
}

/// Rank 0 calls `wait`, which looks at itself by `look` whenever it is asked; the others call `others`,
/// where rank 1 asks until `expected` holds, and then let rank 0 go on.
void while_rank_0_waits(int size, const WorldOptions& options, const std::function<void(Rank&, Found*)>& look,
                        const std::function<void(Rank&)>& wait,
                        const std::function<void(Rank&, const std::function<const Found&()>&)>& others) {
  std::atomic<Asked*> asked{nullptr};
  Found found;
  run_ranks(
      size,
      [&](Process& process) {
        Rank rank(process);
        if (rank.rank != 0) {
          others(rank, [&]() -> const Found& {
            while (asked.load(std::memory_order_acquire) == nullptr) sched_yield();
            asked.load(std::memory_order_acquire)->ask();
            return found;
          });
          rank.barrier();
          return;
        }
        const auto own = std::make_unique<Asked>(process, [&] {
          found = {};
          look(rank, &found);
        });
        asked.store(own.get(), std::memory_order_release);
        wait(rank);
        rank.barrier();
      },
      options);
}

void find_awaited(Rank& rank, Found* found) {
  const Awaiting* awaiting = rank.process.p2p->awaiting;
  if (awaiting == nullptr) return;
  found->how = awaiting->how;
  for (Count i = 0; i < awaiting->count; ++i) {
    const Request* request = awaiting->requests[i];
    if (request == nullptr || request->done) continue;
    found->functions.push_back(request->function);
    found->sites.push_back(request->site);
  }
}

TEST(Waits, NameTheRequestsOfMpiWait) {
  Bytes in(8);
  while_rank_0_waits(
      2, sleepy(), find_awaited,
      [&](Rank& rank) {
        begin_call(rank.process, Function::kIrecv, 0x1234);
        Request* request = rank.irecv(in, 1, 5);
        begin_call(rank.process, Function::kWait, 0x5678);
        EXPECT_EQ(rank.wait(request), kSuccess);
        EXPECT_EQ(rank.process.p2p->awaiting, nullptr);
      },
      [](Rank& rank, const std::function<const Found&()>& ask) {
        const Found* found = nullptr;
        do found = &ask();
        while (found->how == Awaits::kNothing);
        EXPECT_EQ(found->how, Awaits::kAll);
        EXPECT_EQ(found->functions, std::vector<Function>{Function::kIrecv});
        EXPECT_EQ(found->sites, std::vector<std::uint64_t>{0x1234});
        EXPECT_EQ(rank.send(Bytes(8), 0, 5), kSuccess);
      });
}

TEST(Waits, TellWhetherOneOfManyIsEnough) {
  Bytes in[3] = {Bytes(8), Bytes(8), Bytes(8)};
  while_rank_0_waits(
      2, sleepy(), find_awaited,
      [&](Rank& rank) {
        std::vector<Request*> requests{nullptr};
        for (int tag = 0; tag < 3; ++tag) requests.push_back(rank.irecv(in[tag], 1, tag));
        int index = -1;
        EXPECT_EQ(api::waitany(rank.process, 4, requests.data(), &index, nullptr), kSuccess);
        EXPECT_EQ(index, 2);
        EXPECT_EQ(rank.waitall(requests), kSuccess);
      },
      [](Rank& rank, const std::function<const Found&()>& ask) {
        const Found* found = nullptr;
        do found = &ask();
        while (found->how != Awaits::kAny);
        EXPECT_EQ(found->functions.size(), 3U);
        EXPECT_EQ(rank.send(Bytes(8), 0, 1), kSuccess);
        do found = &ask();
        while (found->how != Awaits::kAll);
        EXPECT_EQ(found->functions.size(), 2U);
        for (const int tag : {0, 2}) EXPECT_EQ(rank.send(Bytes(8), 0, tag), kSuccess);
      });
}

TEST(Waits, NameBothRequestsOfMpiSendrecv) {
  constexpr std::size_t kLong = 100'000;
  Bytes in(8);
  const Bytes out(kLong);
  while_rank_0_waits(
      2, sleepy(),
      [](Rank& rank, Found* found) {
        // The newest is that of the part under way; the call's own lies below.
        const Awaiting* awaiting = rank.process.p2p->awaiting;
        if (awaiting == nullptr || awaiting->next == nullptr) return;
        found->how = awaiting->next->how;
        for (Count i = 0; i < awaiting->next->count; ++i)
          found->functions.push_back(awaiting->next->requests[i]->function);
      },
      [&](Rank& rank) {
        begin_call(rank.process, Function::kSendrecv, 1);
        EXPECT_EQ(api::sendrecv(rank.process, out.data(), static_cast<Count>(kLong), rank.byte, 1, 3,
                                in.data(), 8, rank.byte, 1, 4, rank.world, nullptr),
                  kSuccess);
      },
      [](Rank& rank, const std::function<const Found&()>& ask) {
        const Found* found = nullptr;
        do found = &ask();
        while (found->how == Awaits::kNothing);
        EXPECT_EQ(found->functions, (std::vector<Function>{Function::kSendrecv, Function::kSendrecv}));
        Bytes data(kLong);
        EXPECT_EQ(rank.recv(data, 0, 3), kSuccess);
        EXPECT_EQ(rank.send(Bytes(8), 0, 4), kSuccess);
      });
}

TEST(Waits, StopInAnyOrder) {
  Awaiting* list = nullptr;
  const auto make = [&] { return std::make_unique<Awaiting>(&list, nullptr, 0, Awaits::kAll); };
  auto first = make(), second = make(), third = make();
  EXPECT_EQ(list, third.get());
  second.reset();
  EXPECT_EQ(list, third.get());
  EXPECT_EQ(third->next, first.get());
  third.reset();
  EXPECT_EQ(list, first.get());
  auto fourth = make();
  first.reset();
  EXPECT_EQ(list, fourth.get());
  EXPECT_EQ(fourth->next, nullptr);
  fourth.reset();
  EXPECT_EQ(list, nullptr);
}

// --- collectives
// --------------------------------------------------------------------------------------------

void find_missing_of_collectives(Rank& rank, Found* found) {
  if (const NodeSegment* segment = rank.world->slots.get(kNodeSegmentSlot))
    segment->add_missing(&found->missing);
  for (const auto& execution : rank.process.collectives->executions()) {
    if (execution->is_open()) execution->add_missing(&found->missing);
  }
  std::sort(found->missing.begin(), found->missing.end());
  found->missing.erase(std::unique(found->missing.begin(), found->missing.end()), found->missing.end());
}

Code barrier(Rank& rank) {
  return api::barrier(rank.process, rank.world);
}

/// Rank 0 calls a collective, and rank 1 when it has asked. A barrier before makes the node segment.
void expect_missing(const WorldOptions& options, const std::vector<int>& expected,
                    const std::function<Code(Rank&)>& collective) {
  while_rank_0_waits(
      2, options, find_missing_of_collectives,
      [&](Rank& rank) {
        EXPECT_EQ(barrier(rank), kSuccess);
        EXPECT_EQ(collective(rank), kSuccess);
      },
      [&](Rank& rank, const std::function<const Found&()>& ask) {
        EXPECT_EQ(barrier(rank), kSuccess);
        const Found* found = nullptr;
        do found = &ask();
        while (found->missing.empty());
        EXPECT_EQ(found->missing, expected);
        EXPECT_EQ(collective(rank), kSuccess);
      });
}

TEST(Waits, TellWhomANodeSegmentWaitsFor) {
  expect_missing(sleepy(), {1}, barrier);
}

TEST(Waits, TellWhomACollectiveOfMessagesWaitsFor) {
  expect_missing(sleepy(Network::kInproc), {1}, barrier);
}

TEST(Waits, TellWhomALargeCollectiveWaitsFor) {
  constexpr int kInts = 100'000;
  for (const Network network : {Network::kSharedMemory, Network::kInproc}) {
    expect_missing(sleepy(network), {1}, [](Rank& rank) {
      std::vector<int> from(kInts, rank.rank + 1), sum(kInts);
      Op* const add = static_cast<Op*>(rank.process.objects->predefined[kMpiSum]);
      const Code code =
          api::allreduce(rank.process, from.data(), sum.data(), kInts, rank.integer, add, rank.world);
      EXPECT_EQ(sum.back(), 3);
      return code;
    });
  }
}

TEST(Waits, TellAllWhomABarrierWaitsFor) {
  std::atomic<bool> told{false};
  while_rank_0_waits(
      4, sleepy(), find_missing_of_collectives,
      [](Rank& rank) {
        EXPECT_EQ(barrier(rank), kSuccess);
        EXPECT_EQ(barrier(rank), kSuccess);
      },
      [&](Rank& rank, const std::function<const Found&()>& ask) {
        EXPECT_EQ(barrier(rank), kSuccess);
        if (rank.rank == 1) {
          // Rank 2 comes, ranks 1 and 3 do not.
          const Found* found = nullptr;
          do found = &ask();
          while (found->missing != std::vector<int>{1, 3});
          told.store(true);
        }
        if (rank.rank == 3) {
          while (!told.load()) sched_yield();
        }
        EXPECT_EQ(barrier(rank), kSuccess);
      });
}

// --- windows
// ------------------------------------------------------------------------------------------------

struct Memory {
  explicit Memory(Rank& rank) : process(rank.process) {
    EXPECT_EQ(api::win_allocate(process, 64, 1, nullptr, rank.world, &base, &win), kSuccess);
  }
  ~Memory() { EXPECT_EQ(api::win_free(process, &win), kSuccess); }

  Process& process;
  void* base = nullptr;
  Win* win = nullptr;
};

/// After `before_1` of rank 1, `wait` of rank 0 waits for rank 1, whose `release` ends it.
struct WindowWait {
  std::function<void(Rank&, Win*)> before_1 = [](Rank&, Win*) {};
  std::function<void(Rank&, Win*)> wait;
  std::function<void(Rank&, Win*)> release;
};

void expect_window_waits(const WorldOptions& options, const WindowWait& how) {
  std::atomic<Win*> of_rank_0{nullptr};
  while_rank_0_waits(
      2, options,
      [&](Rank& rank, Found* found) {
        Win* win = of_rank_0.load();
        if (win == nullptr) return;
        win->control->add_missing(&found->missing);
        find_missing_of_collectives(rank, found);  // over nodes a fence has a barrier of messages
      },
      [&](Rank& rank) {
        Memory memory(rank);
        rank.barrier();
        of_rank_0.store(memory.win);
        how.wait(rank, memory.win);
        of_rank_0.store(nullptr);
      },
      [&](Rank& rank, const std::function<const Found&()>& ask) {
        Memory memory(rank);
        how.before_1(rank, memory.win);
        rank.barrier();
        const Found* found = nullptr;
        do found = &ask();
        while (found->missing.empty());
        EXPECT_EQ(found->missing, std::vector<int>{1});
        how.release(rank, memory.win);
      });
}

/// Once on one node, where they share words in memory, once on two, where they send messages.
void expect_window_waits(const WindowWait& how) {
  expect_window_waits(sleepy(), how);
  WorldOptions options = sleepy();
  options.nodes = {0, 1};
  expect_window_waits(options, how);
}

TEST(Waits, TellWhoHoldsALock) {
  for (const int held : {kLockExclusive, kLockShared}) {
    expect_window_waits(
        {.before_1 = [&](Rank& rank,
                         Win* win) { EXPECT_EQ(api::win_lock(rank.process, held, 0, 0, win), kSuccess); },
         .wait =
             [](Rank& rank, Win* win) {
               EXPECT_EQ(api::win_lock(rank.process, kLockExclusive, 0, 0, win), kSuccess);
               EXPECT_EQ(api::win_unlock(rank.process, 0, win), kSuccess);
             },
         .release = [](Rank& rank,
                       Win* win) { EXPECT_EQ(api::win_unlock(rank.process, 0, win), kSuccess); }});
  }
}

/// The owner serves the lock, but is not the rank that holds it.
TEST(Waits, TellWhoHoldsALockOfAnotherRank) {
  WorldOptions options = sleepy();
  options.nodes = {0, 1, 2};
  std::atomic<Win*> of_rank_0{nullptr};
  while_rank_0_waits(
      3, options,
      [&](Rank&, Found* found) {
        if (Win* win = of_rank_0.load(); win != nullptr) win->control->add_missing(&found->missing);
      },
      [&](Rank& rank) {
        Memory memory(rank);
        rank.barrier();
        of_rank_0.store(memory.win);
        EXPECT_EQ(api::win_lock(rank.process, kLockShared, 2, 0, memory.win), kSuccess);
        of_rank_0.store(nullptr);
        EXPECT_EQ(api::win_unlock(rank.process, 2, memory.win), kSuccess);
      },
      [&](Rank& rank, const std::function<const Found&()>& ask) {
        Memory memory(rank);
        if (rank.rank == 1) {
          EXPECT_EQ(api::win_lock(rank.process, kLockExclusive, 2, 0, memory.win), kSuccess);
        }
        rank.barrier();
        if (rank.rank == 2) return;
        while (ask().missing != std::vector<int>{1}) continue;
        EXPECT_EQ(api::win_unlock(rank.process, 2, memory.win), kSuccess);
      });
}

TEST(Waits, TellWhoHasNotComeToAFence) {
  const auto fence = [](Rank& rank, Win* win) { EXPECT_EQ(api::win_fence(rank.process, 0, win), kSuccess); };
  expect_window_waits({.wait = fence, .release = fence});
}

TEST(Waits, TellWhoHasNotPostedOrCompleted) {
  const auto group_of = [](Rank& rank, int other) {
    Group* all = nullptr;
    Group* one = nullptr;
    EXPECT_EQ(api::comm_group(rank.process, rank.world, &all), kSuccess);
    EXPECT_EQ(api::group_incl(rank.process, all, 1, &other, &one), kSuccess);
    EXPECT_EQ(api::group_free(rank.process, &all), kSuccess);
    return one;
  };
  const auto access = [&](Rank& rank, Win* win) {
    Group* target = group_of(rank, 1 - rank.rank);
    EXPECT_EQ(api::win_start(rank.process, target, 0, win), kSuccess);
    EXPECT_EQ(api::win_complete(rank.process, win), kSuccess);
    EXPECT_EQ(api::group_free(rank.process, &target), kSuccess);
  };
  const auto expose = [&](Rank& rank, Win* win) {
    Group* origin = group_of(rank, 1 - rank.rank);
    EXPECT_EQ(api::win_post(rank.process, origin, 0, win), kSuccess);
    EXPECT_EQ(api::win_wait(rank.process, win), kSuccess);
    EXPECT_EQ(api::group_free(rank.process, &origin), kSuccess);
  };
  expect_window_waits({.wait = access, .release = expose});
  expect_window_waits({.wait = expose, .release = access});
}

TEST(Moves, AreCountedWhereSomethingMoves) {
  while_rank_0_waits(
      2, sleepy(), [](Rank&, Found*) {},
      [](Rank& rank) {
        Bytes in(8);
        const auto moves = [&] { return rank.process.line.moves.load(std::memory_order_relaxed); };
        const std::uint64_t before = moves();
        Request* request = rank.irecv(in, 1, 0);
        EXPECT_EQ(rank.wait(request), kSuccess);
        EXPECT_GT(moves(), before);
        const std::uint64_t after = moves();
        for (int i = 0; i < 100; ++i) rank.process.progress->poll();
        EXPECT_EQ(moves(), after) << "nothing came";
      },
      [](Rank& rank, const std::function<const Found&()>& ask) {
        ask();
        EXPECT_EQ(rank.send(Bytes(8), 0, 0), kSuccess);
      });
}

}  // namespace
}  // namespace tasuki

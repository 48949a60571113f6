// Shows that several threads of one rank may be in MPI at the same time: messages, requests that another
// thread completes, matched probes, collectives and new communicators. Ranks are threads that have threads of
// their own, each of which holds the process lock during a call, as the binding does; so the thread sanitizer
// sees all of the core.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "coll/api.hpp"
#include "communicator/api.hpp"
#include "datatype/call/api.hpp"
#include "object/api.hpp"
#include "p2p/call/api.hpp"
#include "p2p/ranks.hpp"
#include "reduction/api.hpp"

namespace tasuki::test {
namespace {

constexpr int kThreads = 4;
constexpr int kSteps = 40;

/// api::f(process, …) as the binding calls it.
template <class... Parameters, class... Arguments>
void call(Code (*function)(Process&, Parameters...), Process& process, Arguments... arguments) {
  const std::lock_guard lock(process.lock);
  EXPECT_EQ(function(process, arguments...), kSuccess);
}

/// `body(thread)` in kThreads threads of every rank.
void run_threads(int ranks, const std::function<void(Rank&, int)>& body,
                 const std::function<void(Rank&)>& prepare = {}) {
  run_ranks(ranks,
            [&](Process& process) {
              Rank rank(process);
              if (prepare) prepare(rank);
              std::vector<std::thread> threads;
              for (int i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { body(rank, i); });
              for (std::thread& thread : threads) thread.join();
            },
            {.thread_level = ThreadLevel::kMultiple});
}

/// Sizes on either side of every threshold of the test worlds.
std::size_t size_of(int step) {
  constexpr std::size_t kSizes[] = {0, 8, 40, 41, 900, 1024, 1025, 5000, 60000};
  return kSizes[static_cast<std::size_t>(step) % std::size(kSizes)];
}

Bytes message(int source, int thread, int step) {
  return pattern(size_of(step), static_cast<std::uint32_t>(source * 10000 + thread * 1000 + step));
}

int right_of(const Rank& rank) {
  return (rank.rank + 1) % rank.size;
}
int left_of(const Rank& rank) {
  return (rank.rank + rank.size - 1) % rank.size;
}

TEST(Threads, RingsWithTagsOfTheirOwn) {
  run_threads(3, [](Rank& rank, int thread) {
    for (int step = 0; step < kSteps; ++step) {
      const Bytes out = message(rank.rank, thread, step);
      Bytes in(out.size());
      const auto n = static_cast<Count>(out.size());
      Request* requests[2] = {};
      call(api::irecv, rank.process, in.data(), n, rank.byte, left_of(rank), thread, rank.world,
           &requests[0]);
      if (step % 3 == 0) {
        call(api::send, rank.process, out.data(), n, rank.byte, right_of(rank), thread, rank.world);
      } else {
        call(step % 3 == 1 ? api::isend : api::issend, rank.process, out.data(), n, rank.byte, right_of(rank),
             thread, rank.world, &requests[1]);
      }
      if (step % 2 == 0) {
        call(api::waitall, rank.process, 2, requests, nullptr);
      } else {
        for (bool done = false; !done;) call(api::testall, rank.process, 2, requests, &done, nullptr);
      }
      EXPECT_EQ(in, message(left_of(rank), thread, step));
    }
  });
}

/// Requests on their way from the threads that start them to those that complete them.
struct Handover {
  struct Job {
    Request* request;
    std::shared_ptr<Bytes> data;
    Bytes expected;
  };
  std::mutex mutex;
  std::condition_variable bell;
  std::deque<Job> jobs;
  int left = kThreads / 2 * kSteps * 2;

  void push(Job job) {
    const std::lock_guard lock(mutex);
    jobs.push_back(std::move(job));
    bell.notify_one();
  }
  /// Up to three jobs; none when there are no more to come.
  std::vector<Job> pop() {
    std::unique_lock lock(mutex);
    bell.wait(lock, [this] { return !jobs.empty() || left == 0; });
    std::vector<Job> taken;
    for (; taken.size() < 3 && !jobs.empty(); --left) {
      taken.push_back(std::move(jobs.front()));
      jobs.pop_front();
    }
    if (left == 0) bell.notify_all();
    return taken;
  }
};

void start_requests(Rank& rank, int thread, Handover& handover) {
  for (int step = 0; step < kSteps; ++step) {
    const int tag = thread * kSteps + step;
    auto in = std::make_shared<Bytes>(size_of(step));
    auto out = std::make_shared<Bytes>(message(rank.rank, thread, step));
    Request* receive = nullptr;
    Request* send = nullptr;
    const auto n = static_cast<Count>(in->size());
    call(api::irecv, rank.process, in->data(), n, rank.byte, left_of(rank), tag, rank.world, &receive);
    call(api::isend, rank.process, out->data(), n, rank.byte, right_of(rank), tag, rank.world, &send);
    handover.push({receive, in, message(left_of(rank), thread, step)});
    handover.push({send, out, *out});
  }
}

void finish_requests(Rank& rank, int thread, Handover& handover) {
  for (auto jobs = handover.pop(); !jobs.empty(); jobs = handover.pop()) {
    std::vector<Request*> requests;
    for (const auto& job : jobs) requests.push_back(job.request);
    const auto n = static_cast<Count>(requests.size());
    for (Count done = 0, count = 0; done < n; done += count) {
      int indices[3];
      call(thread % 4 == 1 ? api::waitsome : api::testsome, rank.process, n, requests.data(), &count, indices,
           nullptr);
    }
    for (const auto& job : jobs) EXPECT_EQ(*job.data, job.expected);
  }
}

TEST(Threads, RequestsThatAnotherThreadCompletes) {
  std::vector<Handover> handovers(2);
  run_threads(2, [&](Rank& rank, int thread) {
    Handover& handover = handovers[static_cast<std::size_t>(rank.rank)];
    if (thread % 2 == 0) {
      start_requests(rank, thread, handover);
    } else {
      finish_requests(rank, thread, handover);
    }
  });
}

TEST(Threads, MatchedProbesTakeEachMessageOnce) {
  constexpr int kRanks = 3;
  constexpr int kMessages = 60;  // from each to each
  std::vector<std::atomic<int>> tickets(kRanks);
  for (auto& ticket : tickets) ticket = kRanks * kMessages;
  std::vector<std::vector<std::atomic<int>>> seen(kRanks);
  for (auto& row : seen) row = std::vector<std::atomic<int>>(kRanks * kMessages);
  run_threads(kRanks, [&](Rank& rank, int thread) {
    const auto me = static_cast<std::size_t>(rank.rank);
    if (thread == 0) {
      for (int step = 0; step < kMessages; ++step) {
        const Bytes out = message(rank.rank, 0, step);
        for (int target = 0; target < rank.size; ++target) {
          call(api::send, rank.process, out.data(), static_cast<Count>(out.size()), rank.byte, target, step,
               rank.world);
        }
      }
    }
    while (--tickets[me] >= 0) {
      Message* message_taken = nullptr;
      Status status;
      if (thread % 2 == 0) {
        call(api::mprobe, rank.process, kAnySource, kAnyTag, rank.world, &message_taken, &status);
      } else {
        for (bool found = false; !found;)
          call(api::improbe, rank.process, kAnySource, kAnyTag, rank.world, &found, &message_taken, &status);
      }
      Bytes in(static_cast<std::size_t>(status.bytes));
      call(api::mrecv, rank.process, in.data(), status.bytes, rank.byte, &message_taken, &status);
      EXPECT_EQ(in, message(status.source, 0, status.tag));
      EXPECT_EQ(seen[me][static_cast<std::size_t>(status.source * kMessages + status.tag)]++, 0);
    }
  });
}

// Copies for which the threads let go of the lock: they overlap, and each message is copied once. Dense
// buffers and blocks at a stride; sends that come before their receives, and behind them.
TEST(Threads, LongMessagesOfAllThreadsAtOnce) {
  constexpr int kLongSteps = 12;
  run_threads(2, [](Rank& rank, int thread) {
    const int peer = 1 - rank.rank;
    Datatype* blocks = nullptr;
    call(api::type_vector, rank.process, Count{2000}, Count{100}, Count{120}, rank.byte, &blocks, false);
    call(api::type_commit, rank.process, &blocks);
    for (int step = 0; step < kLongSteps; ++step) {
      constexpr std::size_t kSizes[] = {40'000, 300'000, 3'000'000};
      const bool dense = step % 4 != 3;
      const std::size_t size = dense ? kSizes[static_cast<std::size_t>(step) % 3] : 240'000;
      const auto pattern_of = [&](int source) {
        return pattern(size, static_cast<std::uint32_t>(source * 1000 + thread * 100 + step));
      };
      const Bytes out = pattern_of(rank.rank);
      Bytes in(size);
      Datatype* const type = dense ? rank.byte : blocks;
      const Count count = dense ? static_cast<Count>(size) : 1;
      Request* requests[2] = {};
      const auto receive = [&] {
        call(api::irecv, rank.process, in.data(), count, type, peer, thread, rank.world, &requests[0]);
      };
      if (step % 2 == 0) receive();
      call(step % 3 == 0 ? api::issend : api::isend, rank.process, out.data(), count, type, peer, thread,
           rank.world, &requests[1]);
      if (step % 2 != 0) receive();
      call(api::waitall, rank.process, Count{2}, requests, nullptr);
      const Bytes expected = pattern_of(peer);
      if (dense) {
        EXPECT_TRUE(in == expected);
        continue;
      }
      for (std::size_t at = 0; at < size; ++at)
        ASSERT_EQ(in[at], at % 120 < 100 && at < 239'980 ? expected[at] : 0) << at;
    }
    call(api::type_free, rank.process, &blocks);
  });
}

// Reductions and copies without the lock, in blocking collectives, in those that any thread's poll carries
// on, and beside long messages.
TEST(Threads, LongCollectivesOfAllThreadsAtOnce) {
  constexpr Count kInts = 50'000;
  std::vector<std::vector<Comm*>> comms(2, std::vector<Comm*>(kThreads));
  const auto make = [&](Rank& rank) {
    for (Comm*& comm : comms[static_cast<std::size_t>(rank.rank)])
      call(api::comm_dup, rank.process, rank.world, &comm);
  };
  const auto body = [&](Rank& rank, int thread) {
    Comm* comm = comms[static_cast<std::size_t>(rank.rank)][static_cast<std::size_t>(thread)];
    auto* sum = static_cast<Op*>(rank.process.objects->predefined[kMpiSum]);
    for (int step = 0; step < 6; ++step) {
      const std::vector<int> mine(kInts, 1 + rank.rank + 10 * thread + step);
      std::vector<int> now(kInts), later(kInts), mixed(2 * kInts);
      Request* requests[2] = {};
      call(api::iallreduce, rank.process, mine.data(), later.data(), kInts, rank.integer, sum, comm,
           &requests[0]);
      call(api::iallgather, rank.process, mine.data(), kInts, rank.integer, mixed.data(), kInts, rank.integer,
           comm, &requests[1]);
      call(api::allreduce, rank.process, mine.data(), now.data(), kInts, rank.integer, sum, comm);
      call(api::waitall, rank.process, Count{2}, requests, nullptr);
      const int expected = 3 + 2 * (10 * thread + step);
      EXPECT_EQ(now, std::vector<int>(kInts, expected));
      EXPECT_EQ(later, now);
      EXPECT_EQ(mixed[0] + mixed[kInts], expected);
    }
    call(api::comm_free, rank.process, &comm);
  };
  run_threads(2, body, make);
}

// A thread that packs, unpacks or reduces much by itself lets others call meanwhile.
TEST(Threads, PackingAndReducingKeepNobodyWaiting) {
  constexpr Count kInts = 1 << 20;
  constexpr int kCallsMax = 2000;
  run_ranks(
      1,
      [](Process& process) {
        Rank rank(process);
        auto* const sum = static_cast<Op*>(process.objects->predefined[kMpiSum]);
        std::vector<int> one(kInts, 3), other(kInts, 4), packed(kInts);
        Count position = 0;
        const std::function<Code()> calls[] = {
            [&] {
              return api::pack(process, one.data(), kInts, rank.integer, packed.data(), 4 * kInts, &position,
                               rank.world);
            },
            [&] {
              return api::unpack(process, packed.data(), 4 * kInts, &position, other.data(), kInts,
                                 rank.integer, rank.world);
            },
            [&] {
              return api::pack_external(process, "external32", one.data(), kInts, rank.integer, packed.data(),
                                        4 * kInts, &position);
            },
            [&] {
              return api::unpack_external(process, "external32", packed.data(), 4 * kInts, &position,
                                          other.data(), kInts, rank.integer);
            },
            [&] { return api::reduce_local(process, one.data(), other.data(), kInts, rank.integer, sum); },
        };
        for (const auto& busy_call : calls) {
          bool is_inside = false;  // guarded by the lock
          std::atomic<bool> came_in = false, over = false;
          std::thread guest([&] {
            while (!came_in && !over) {
              const std::lock_guard lock(process.lock);
              if (is_inside) came_in = true;
            }
          });
          for (int number = 0; number < kCallsMax && !came_in; ++number) {
            const std::lock_guard lock(process.lock);
            is_inside = true;
            position = 0;
            EXPECT_EQ(busy_call(), kSuccess);
            is_inside = false;
          }
          over = true;
          guest.join();
          EXPECT_TRUE(came_in);
        }
        EXPECT_EQ(one, std::vector<int>(kInts, 3));
      },
      {.thread_level = ThreadLevel::kMultiple});
}

TEST(Threads, CollectivesOnDifferentCommunicators) {
  std::vector<std::vector<Comm*>> comms(3, std::vector<Comm*>(kThreads));
  const auto make = [&](Rank& rank) {
    for (Comm*& comm : comms[static_cast<std::size_t>(rank.rank)])
      call(api::comm_dup, rank.process, rank.world, &comm);
  };
  const auto body = [&](Rank& rank, int thread) {
    Comm* comm = comms[static_cast<std::size_t>(rank.rank)][static_cast<std::size_t>(thread)];
    auto* sum = static_cast<Op*>(rank.process.objects->predefined[kMpiSum]);
    for (int step = 0; step < kSteps; ++step) {
      const int root = step % rank.size;
      const int mine = rank.rank + 10 * thread + step;
      int total = -1;
      Bytes data = rank.rank == root ? message(root, thread, step) : Bytes(size_of(step));
      Request* requests[2] = {};
      call(api::ibcast, rank.process, data.data(), static_cast<Count>(data.size()), rank.byte, root, comm,
           &requests[0]);
      call(api::iallreduce, rank.process, &mine, &total, 1, rank.integer, sum, comm, &requests[1]);
      call(api::waitall, rank.process, 2, requests, nullptr);
      EXPECT_EQ(data, message(root, thread, step));
      EXPECT_EQ(total, 3 + 3 * (10 * thread + step));
      call(api::barrier, rank.process, comm);
    }
    call(api::comm_free, rank.process, &comm);
  };
  run_threads(3, body, make);
}

TEST(Threads, CommunicatorsMadeAndFreedAtTheSameTime) {
  std::vector<std::vector<Comm*>> comms(2, std::vector<Comm*>(kThreads));
  const auto make = [&](Rank& rank) {
    for (Comm*& comm : comms[static_cast<std::size_t>(rank.rank)])
      call(api::comm_dup, rank.process, rank.world, &comm);
  };
  const auto body = [&](Rank& rank, int thread) {
    Comm* parent = comms[static_cast<std::size_t>(rank.rank)][static_cast<std::size_t>(thread)];
    for (int step = 0; step < kSteps / 2; ++step) {
      Comm* made[3] = {};
      Request* request = nullptr;
      call(api::comm_dup, rank.process, parent, &made[0]);
      call(api::comm_idup, rank.process, parent, &made[1], &request);
      call(api::wait, rank.process, &request, nullptr);
      call(api::comm_split, rank.process, made[0], 0, -rank.rank, &made[2]);
      for (Comm*& comm : made) {
        int in = -1;
        const int out = thread * 100 + step;
        const int peer = 1 - comm->rank;
        call(api::sendrecv, rank.process, &out, 1, rank.integer, peer, 0, &in, 1, rank.integer, peer, 0, comm,
             nullptr);
        EXPECT_EQ(in, out);
        call(api::comm_free, rank.process, &comm);
      }
    }
    call(api::comm_free, rank.process, &parent);
  };
  run_threads(2, body, make);
}

}  // namespace
}  // namespace tasuki::test
